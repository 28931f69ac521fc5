# frozen_string_literal: true

require "test_helper"
require "penstock/outbox"
require "penstock/outbox/settings"

class OutboxSettingsTest < Penstock::TestCase
  Settings = Penstock::Outbox::Settings

  test "the defaults are valid" do
    assert_predicate Settings.new.finish!, :frozen?
  end

  test "all problems are reported at once, each with its place" do
    settings = Settings.new
    settings.table = "a; drop table"
    settings.after_delivery = :forget
    settings.batch_size = 0
    settings.record = 4
    settings.producer = 5
    error = assert_raises(Penstock::ConfigurationError) { settings.finish! }

    assert_equal ["outbox: table", "outbox: record", "outbox: after_delivery", "outbox: batch_size", "outbox: producer"],
      error.problems.map(&:path)
  end

  test "the relay's producer may be given as a block; one that expects settings to change is reported" do
    settings = Settings.new
    settings.producer { :made }
    assert_equal :made, settings.finish!.producer.call

    [->(own) { own }, proc { |own| own }].each do |block|
      settings = Settings.new
      settings.producer(&block)
      error = assert_raises(Penstock::ConfigurationError) { settings.finish! }
      assert_includes error.message, "outbox: producer: has a parameter"
    end
  end

  test "the back-off doubles up to its limit" do
    settings = Settings.new.finish!

    assert_equal [1_000, 2_000, 4_000, 256_000, 300_000, 300_000],
      [1, 2, 3, 9, 10, 1_000].map { |failures| settings.backoff_ms(failures) }
  end

  test "words may be Symbols, tables may have a schema, and a class may be given instead of its name" do
    settings = Settings.new
    settings.after_delivery = :keep
    settings.table = :"events.outbox"
    settings.record = String
    settings.finish!

    assert_predicate settings, :keep?
    assert_equal %w[events.outbox String], [settings.table, settings.record]
  end
end
