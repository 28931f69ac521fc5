# frozen_string_literal: true

require "test_helper"
require "support/outbox"
require "penstock/cli"
require "penstock/outbox"
require "penstock/outbox/commands"
require "penstock/outbox/commands/relay"
require "penstock/server/signals"

# Mistakes of a user's first days with the outbox, and their messages as a whole.
class FirstDayOutboxTest < Penstock::TestCase
  include Penstock::TestSupport::Outbox

  extend Penstock::TestSupport::Outbox::OnSQLite

  Settings = Penstock::Outbox::Settings
  MISSING = "`penstock outbox install` writes its migration"

  def database(table = "penstock_outbox")
    Penstock::Outbox::Database.new(Settings.new.tap { |settings| settings.table = table }.finish!)
  end

  test "a misspelt setting is refused with the nearest one" do
    settings = Settings.new
    settings.on_refused = :park

    assert_equal "outbox: on_refused: there is no such setting. Did you mean on_refusal?",
      assert_raises(Penstock::ConfigurationError) { settings.finish! }.message
  end

  test "a value that a setting doesn't have is refused with those it has" do
    settings = Settings.new
    settings.on_refusal = :drop

    assert_equal 'outbox: on_refusal: must be "park" or "set_aside", is :drop',
      assert_raises(Penstock::ConfigurationError) { settings.finish! }.message
  end

  test "a relay whose table is missing ends with the command that writes its migration" do
    missing = database("nowhere")
    store = Penstock::Outbox::Store.new(missing, Settings.new.finish!, Penstock::Clock::SYSTEM)
    error = assert_raises(Penstock::ConfigurationError) { store.check! }

    assert_match(/\Aoutbox: the table nowhere is missing or has the wrong columns \(Could not find table 'nowhere'\)\. \
#{Regexp.escape(MISSING)}\z/, error.message)
  end

  test "without a connection the boot file is named as the place for it" do
    unconnected = database
    unconnected.define_singleton_method(:model) do
      raise ActiveRecord::ConnectionNotEstablished, "No connection pool for 'ActiveRecord::Base' found."
    end
    error = assert_raises(Penstock::ConfigurationError) { unconnected.connected { nil } }

    assert_equal "outbox: Active Record has no connection for ActiveRecord::Base. Call ActiveRecord::Base.establish_connection " \
                 "in the boot file, or load the Rails application there", error.message
  end

  test "the command of the relay reports a LoadError of the relay's thread once, as its own error" do
    command = Penstock::OutboxCommands::Relay.new(Penstock::CLI::Context.system)
    relay = Object.new
    relay.define_singleton_method(:run) { raise LoadError, "no gem" }
    ended = command.send(:outcome_of, relay, Penstock::Server::Signals.new)

    assert_equal "no gem", ended.message
    assert_same ended, assert_raises(LoadError) { command.send(:failed, ended) }
  end

  test "a relay that can't reach its database at the start ends with the address as what to check" do
    command = Penstock::OutboxCommands::Relay.new(Penstock::CLI::Context.system)
    down = ActiveRecord::ConnectionNotEstablished.new("connection to server at \"127.0.0.1\", port 1 failed\nmore")
    error = assert_raises(Penstock::ConfigurationError) { command.send(:failed, down) }

    assert_equal "outbox: the database can't be reached: connection to server at \"127.0.0.1\", port 1 failed. Check its " \
                 "address and that it runs; then start the relay again", error.message
  end
end
