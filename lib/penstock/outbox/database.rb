# frozen_string_literal: true

require "logger"
require_relative "../errors"
require_relative "postgresql"
require_relative "sqlite"

module Penstock
  module Outbox
    # Accesses the table: through a model of its own that uses the connection of the application's class, and a dialect for
    # what differs between databases. Loads Active Record on first use, not before. Holds no connection; any thread may use it.
    class Database
      # Active Record's adapter name => dialect. Loaded with this file: threads that load one with their first message, inside a
      # transaction, may wait for each other.
      DIALECTS = {"postgresql" => PostgreSQL, "postgis" => PostgreSQL, "sqlite" => SQLite}.freeze

      # Messages of Active Record before `establish_connection`, in all of its versions.
      UNCONNECTED = /\A(?:No connection pool|No database connection defined)/
      private_constant :UNCONNECTED

      # @param settings [Settings]
      def initialize(settings)
        @settings = settings
        @lock = Mutex.new
      end

      # @return [String]
      def table = @settings.table

      # The rows, without the default scope of the application's class.
      # @return [ActiveRecord::Relation]
      def rows = model.unscoped

      # @yieldparam connection [ActiveRecord::ConnectionAdapters::AbstractAdapter]
      def connected(&block)
        model.respond_to?(:with_connection) ? model.with_connection(&block) : yield(model.connection)
      rescue => error
        raise unless UNCONNECTED.match?(error.message) && error.class.name.start_with?("ActiveRecord::")

        raise ConfigurationError.new([Problem.new("outbox", "Active Record has no connection for #{@settings.record}",
          "Call ActiveRecord::Base.establish_connection in the boot file, or load the Rails application there")]), cause: error
      end

      # Runs the block without Active Record's lines of level debug: an idle relay would fill the log of a development machine
      # with its queries. Only loggers of Active Support can be silenced for one thread.
      def quietly(&block)
        logger = model.logger
        logger.respond_to?(:silence) ? logger.silence(Logger::INFO, &block) : yield
      end

      # @return [PostgreSQL, SQLite]
      # @raise [ConfigurationError] the database isn't supported
      def dialect
        @dialect ||= connected { |connection| dialect_of(connection.adapter_name) }
      end

      # Replaces the error for a missing table by one that explains what to do.
      # @raise [LoadError] Active Record is missing
      def with_table_hint(&block)
        model # loads Active Record, before the rescue clause names its classes
        explain_table(&block)
      end

      # @param columns [Hash{Symbol => Object}]
      # @return [Integer] its id
      def insert(connection, columns)
        manager = Arel::InsertManager.new(model.arel_table)
        manager.insert(columns.map { |name, value| [model.arel_table[name], bind(name.to_s, value)] })
        connection.insert(manager, "Outbox Insert", "id")
      end

      # @return [Class] the model
      def model
        @model || @lock.synchronize { @model ||= make_model }
      end

      private

      def explain_table
        yield
      rescue ActiveRecord::StatementInvalid, ActiveModel::MissingAttributeError => error
        raise unless error.message.match?(/no such (?:table|column)|Could not find table|does not exist|UndefinedTable/i)

        text = error.message.scrub.lines.first.to_s.strip[0, 200]
        raise ConfigurationError.new([Problem.new("outbox", "the table #{table} is missing or has the wrong columns (#{text})",
          "`penstock outbox install` writes its migration")]), cause: error
      end

      # Binds the value, so that it doesn't appear in logs.
      def bind(name, value)
        attribute = ActiveRecord::Relation::QueryAttribute.new(name, value, model.type_for_attribute(name))
        Arel::Nodes::BindParam.new(attribute)
      end

      def make_model
        load_active_record
        table = @settings.table
        Class.new(parent) do
          self.table_name = table
          self.primary_key = "id"
          self.inheritance_column = nil
          define_singleton_method(:name) { "Penstock::Outbox::Row" }
        end
      end

      def load_active_record
        require "active_record"
      rescue LoadError => error
        raise error unless error.path == "active_record"

        raise LoadError.new("the outbox needs Active Record: add `gem \"activerecord\"` to the Gemfile, and the gem of your " \
          "database (`pg` or `sqlite3`)").extend(Error)
      end

      def parent
        klass = Object.const_get(@settings.record)
        return klass if klass <= ActiveRecord::Base && (klass == ActiveRecord::Base || klass.abstract_class?)

        raise ConfigurationError.new([Problem.new("outbox: record", "#{klass} must be ActiveRecord::Base or an abstract class " \
          "that inherits from it", "for example ApplicationRecord")])
      rescue NameError => error
        raise if error.is_a?(NoMethodError)
        raise ConfigurationError.new([Problem.new("outbox: record", "there is no class #{@settings.record}")]), cause: error
      end

      def dialect_of(adapter)
        dialect = DIALECTS[adapter.downcase] or unsupported(adapter)
        dialect.new(self)
      end

      def unsupported(adapter)
        raise ConfigurationError.new([Problem.new("outbox: record", "#{adapter} isn't supported",
          "The outbox works with PostgreSQL and SQLite")])
      end
    end
  end
end
