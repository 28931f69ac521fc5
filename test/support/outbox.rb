# frozen_string_literal: true

require "active_record"
require "fileutils"
require "tmpdir"
require "penstock/clock"
require "penstock/instrumentation/monitor"
require "penstock/outbox"
require "penstock/outbox/database"
require "penstock/outbox/writer"
require "penstock/outbox/migration"
require "penstock/outbox/relay"
require "penstock/outbox/settings"
require "penstock/outbox/store"

# Active Record's own constants, loaded before a test counts open resources.
ActiveRecord.eager_load!

module Penstock
  module TestSupport
    # A table, a writer, and relays whose producer is a {Log}. Included by classes that set the database in
    # `before_all`.
    module Outbox
      # An SQLite file for all tests of a class.
      module OnSQLite
        def self.extended(tests) = tests.leaks_checked_per_class("the pool's connections stay open between tests")

        def before_all
          @folder = Dir.mktmpdir("outbox")
          Outbox.sqlite(@folder)
        end

        def after_all
          Outbox.disconnect
          FileUtils.remove_entry(@folder)
        end
      end

      # A producer that keeps what it is sent, in order, and answers as the test sets.
      class Log
        Report = Struct.new(:error)

        # A delivery whose outcome is decided when it is waited for.
        Handle = Struct.new(:log, :message) do
          def wait(**) = Report.new(log.decide(message))
        end

        attr_reader :sent, :stored
        attr_accessor :answer, :at_send
        attr_reader :purged

        # @yieldparam message [Hash]
        # @yieldreturn [Exception, nil]
        def initialize(&answer)
          @answer = answer || ->(_message) {}
          @at_send = ->(_message) {}
          @sent = []
          @stored = []
          @purged = 0
        end

        def produce_async(message)
          at_send.call(message)
          sent << message
          Handle.new(self, message)
        end

        # The broker's answer to the message.
        def decide(message)
          answer.call(message).tap { |error| stored << message unless error }
        end

        def close(timeout_ms: nil)
        end

        def purge = @purged += 1

        def payloads = stored.map { |message| message[:payload] }
      end

      # A clock that stops until it is moved.
      class Clock < Penstock::Clock
        attr_accessor :wall_ms, :monotonic_ms

        def initialize
          super
          @wall_ms = 1_800_000_000_000
          @monotonic_ms = 5_000
        end

        def pass(milliseconds)
          @wall_ms += milliseconds
          @monotonic_ms += milliseconds
        end
      end

      class << self
        def connect(**options)
          ActiveRecord::Base.establish_connection(reaping_frequency: nil, **options)
          ActiveRecord::Migration.verbose = false
          Object.class_eval(Penstock::Outbox::Migration.source(version: "7.1")) unless defined?(::CreatePenstockOutbox)
          ::CreatePenstockOutbox.migrate(:up)
        end

        def disconnect
          ActiveRecord::Base.connection_handler.clear_all_connections!(:all)
          ActiveRecord::Base.remove_connection
        end

        # A file, because a database in memory belongs to one connection.
        def sqlite(folder)
          connect(adapter: "sqlite3", database: File.join(folder, "outbox.sqlite3"), timeout: 5_000)
        end
      end

      def setup
        super
        ActiveRecord::Base.connection.execute("DELETE FROM penstock_outbox")
        @clock = Clock.new
        @log = Log.new
        @events = []
        use
      end

      # Sets settings for everything that is made from now on.
      def use(**options)
        @settings = Penstock::Outbox::Settings.new
        options.each { |name, value| @settings.public_send(:"#{name}=", value) }
        @settings.finish!
        @database = Penstock::Outbox::Database.new(@settings)
        @store = Penstock::Outbox::Store.new(@database, @settings, @clock)
        @writer = Penstock::Outbox::Writer.new(@database, @settings, clock: @clock)
      end

      def monitor
        @monitor ||= Penstock::Instrumentation::Monitor.new(strict: true).tap do |monitor|
          monitor.available_events.each { |name| monitor.subscribe(name) { |event| @events << event } }
        end
      end

      def relay(log = @log) = Penstock::Outbox::Relay.new(@store, @settings, monitor: monitor, clock: @clock) { log }

      # @param payloads [Array<String>] each becomes a message of this key
      def put(*payloads, key: "k", topic: "orders", **rest)
        ActiveRecord::Base.transaction do
          payloads.map { |payload| @writer.enqueue([{topic: topic, payload: payload, key: key, **rest}.compact]).first }
        end
      end

      # Payload => state, for the rows of the table.
      def states
        @database.rows.order(:id).pluck(:payload, :state).to_h
      end

      def told(name) = @events.select { |event| event.id == name }

      def refused(code = :msg_size_too_large) = Penstock::KafkaError.new("no", code: code)
    end
  end
end
