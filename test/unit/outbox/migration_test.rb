# frozen_string_literal: true

require "test_helper"
require "penstock/outbox"
require "penstock/outbox/migration"

class OutboxMigrationTest < Penstock::TestCase
  Migration = Penstock::Outbox::Migration

  test "the source is valid Ruby, for the given table and version" do
    source = Migration.source(table: "events.shop_outbox", version: "8.0")

    assert RubyVM::InstructionSequence.compile(source)
    assert_includes source, "class CreateEventsShopOutbox < ActiveRecord::Migration[8.0]"
    assert_includes source, 'create_table :"events.shop_outbox"'
    assert_includes source, 'name: "events_shop_outbox_ready"'
    assert_equal "create_events_shop_outbox.rb", Migration.file_name("events.shop_outbox")
  end

  test "the example shop has the migration that the generator writes today" do
    folder = File.expand_path("../../../examples/rails_shop/db/migrate", __dir__)
    written = Dir[File.join(folder, "*_#{Migration.file_name("penstock_outbox")}")]

    comment = "# frozen_string_literal: true\n\n"

    assert_equal [comment + Migration.source(version: "7.1")], written.map { |path| File.read(path) }
  end
end
