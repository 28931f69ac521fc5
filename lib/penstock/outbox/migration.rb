# frozen_string_literal: true

module Penstock
  module Outbox
    # Generates the source of the migration that creates the table. Stateless.
    module Migration
      NAME = "create_penstock_outbox"

      class << self
        # @param table [String]
        # @param version [String, nil] of Active Record, as "7.2"
        # @return [String] Ruby
        def source(table: "penstock_outbox", version: nil)
          format(TEMPLATE, table: table, version: version || "7.1", name: class_name(table), index: table.tr(".", "_"))
        end

        # @param table [String]
        # @return [String] without the timestamp
        def file_name(table) = "create_#{table.tr(".", "_")}.rb"

        private

        def class_name(table) = "create_#{table.tr(".", "_")}".split("_").map(&:capitalize).join
      end

      TEMPLATE = <<~RUBY
        # Messages on their way to Kafka: written by Penstock::Outbox.enqueue, sent by `penstock outbox`. Rows are read by id,
        # so the id must be a number that is never used twice.
        class %<name>s < ActiveRecord::Migration[%<version>s]
          def change
            create_table :"%<table>s" do |t|
              t.string :topic, null: false
              t.binary :message_key
              t.binary :payload
              t.text :headers
              t.integer :partition
              t.binary :partition_key
              t.bigint :timestamp_ms
              t.bigint :strand # the same for all rows of one topic and key
              t.string :state, null: false, default: "ready" # parked, held, aside, sent
              t.integer :attempts, null: false, default: 0
              t.bigint :due_ms
              t.bigint :blocker_id
              t.text :last_error
              t.bigint :created_ms, null: false
              t.bigint :sent_ms
            end
            add_index :"%<table>s", :id, where: "state = 'ready'", name: "%<index>s_ready"
            add_index :"%<table>s", :strand, where: "state = 'parked'", name: "%<index>s_parked"
            add_index :"%<table>s", :due_ms, where: "state = 'parked'", name: "%<index>s_due"
            add_index :"%<table>s", :blocker_id, where: "state = 'held'", name: "%<index>s_held"
            add_index :"%<table>s", :id, where: "state = 'aside'", name: "%<index>s_aside"
          end
        end
      RUBY
      private_constant :TEMPLATE
    end
  end
end
