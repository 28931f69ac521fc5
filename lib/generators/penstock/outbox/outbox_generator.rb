# frozen_string_literal: true

require_relative "../base"
require "rails/generators/active_record/migration"
require "penstock/outbox/migration"

module Penstock
  module Generators
    # `bin/rails generate penstock:outbox`
    class OutboxGenerator < Base
      include ::ActiveRecord::Generators::Migration

      desc <<~TEXT
        Description:
          Creates the migration of the outbox: the table in which messages wait that belong to database transactions.

        Example:
          bin/rails generate penstock:outbox
          bin/rails db:migrate
      TEXT

      class_option :table, type: :string, default: "penstock_outbox", desc: "name of the table, as in the setting `table`"
      class_option :database, type: :string, aliases: %w[--db], desc: "database of the migration; by default the primary one"

      TABLE = /\A[a-z_]\w*(?:\.[a-z_]\w*)?\z/i
      private_constant :TABLE

      # @return [void]
      def create_migration_file
        check_active_record
        table = options[:table]
        raise Thor::Error, "--table #{table}: use letters, digits and underscores" unless table.match?(TABLE)

        name = Outbox::Migration.file_name(table)
        set_migration_assigns!(File.join(db_migrate_path, name))
        create_migration File.join(db_migrate_path, "%migration_number%_#{name}"),
          Outbox::Migration.source(table: table, version: ::ActiveRecord::Migration.current_version)
      end

      # @return [void]
      def show_next_steps
        return if behavior == :revoke
        say <<~TEXT

          Next:
            bin/rails db:migrate
            In a transaction:  Penstock::Outbox.enqueue(topic: "orders", key: "42", payload: order.to_json)
            bin/penstock outbox      sends the rows; `bin/penstock outbox status` shows them
        TEXT
      end

      private

      def check_active_record
        return if defined?(::ActiveRecord::Railtie)
        raise Thor::Error, "the outbox needs Active Record: require \"active_record/railtie\" in config/application.rb"
      end
    end
  end
end
