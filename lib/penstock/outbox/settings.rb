# frozen_string_literal: true

require_relative "../config/types"
require_relative "../errors"

module Penstock
  module Outbox
    # What `Penstock::Outbox.setup { |config| … }` yields: a setter and a getter for every setting. {#finish!} checks all of
    # them at once and freezes it. Times are Integer milliseconds, sizes bytes.
    class Settings
      # The name of a class, or the class; asked for when it is needed, so that setting up loads no model.
      # @api private
      class ClassName
        def coerce(value)
          return value.name if value.is_a?(Class) && value.name
          (value.is_a?(String) && value.match?(/\A(?:::)?[A-Z]\w*(?:::[A-Z]\w*)*\z/)) ? value.dup.freeze : Config::Types::INVALID
        end

        def to_s = "a class of Active Record, or its name"
      end

      # The name of a table, with or without a schema.
      # @api private
      class TableName
        def coerce(value)
          value.to_s.match?(/\A[a-z_]\w*(?:\.[a-z_]\w*)?\z/i) ? value.to_s.dup.freeze : Config::Types::INVALID
        end

        def to_s = "the name of a table"
      end

      # @api private
      Setting = Struct.new(:name, :type, :default, :description)

      # @api private
      Types = Penstock::Config::Types

      # @api private
      SETTINGS = [
        Setting.new(:table, TableName.new, "penstock_outbox", "The table."),
        Setting.new(:record, ClassName.new, "ActiveRecord::Base",
          "Class of Active Record whose connection is used: that of the data the messages tell of."),
        Setting.new(:after_delivery, Types::Word.new(:delete, :keep), "delete",
          "What becomes of a row when Kafka has its message: it is deleted, or kept as sent until it is purged."),
        Setting.new(:on_refusal, Types::Word.new(:park, :set_aside), "park",
          "What becomes of a row that Kafka refuses for good: it is tried again and again, and what has its key waits; or it " \
          "is set aside after `max_attempts`, and what has its key goes on."),
        Setting.new(:max_attempts, Types::Whole.new(min: 1), 3, "How often a refused row is tried before it is set aside."),
        Setting.new(:backoff, Types::Milliseconds.new(min: 1), 1_000,
          "Time before a refused row is tried again; doubles each time."),
        Setting.new(:max_backoff, Types::Milliseconds.new(min: 1), 300_000, "Longest such time."),
        Setting.new(:batch_size, Types::Whole.new(min: 1, max: 10_000), 500, "Most rows of a turn."),
        Setting.new(:batch_bytes, Types::Whole.new(min: 1), 16 * 1_048_576,
          "Most bytes of payload of a turn; one row may have more."),
        Setting.new(:poll_interval, Types::Milliseconds.new(min: 1), 500, "Time between two looks at a table that had nothing."),
        Setting.new(:send_timeout, Types::Milliseconds.new(min: 1_000), 10_000,
          "Time Kafka has to acknowledge a message; then the row is sent again later."),
        Setting.new(:stop_timeout, Types::Milliseconds.new, 30_000, "Time a relay has to end when it is told to."),
        Setting.new(:lag_interval, Types::Milliseconds.new(min: 1), 10_000, "Time between two events that tell the lag."),
        Setting.new(:key_lock, Types::Flag.new, true,
          "Whether `enqueue` locks the key until the transaction ends (PostgreSQL), so that messages of a key leave in the " \
          "order of commits."),
        Setting.new(:require_transaction, Types::Flag.new, true, "Whether `enqueue` outside of a transaction is an error."),
        Setting.new(:max_payload_size, Types::Whole.new(min: 1), 1_000_012,
          "Largest payload in bytes, as the producer's setting of this name."),
        Setting.new(:producer, Types::Responding.new(:call), nil,
          "Makes the relay's producer, which the relay closes; nil for one with the application's settings.")
      ].freeze

      SETTINGS.each { |setting| attr_accessor setting.name }

      def initialize
        SETTINGS.each { |setting| instance_variable_set(:"@#{setting.name}", setting.default) }
      end

      # @return [self] frozen
      # @raise [ConfigurationError] with all that is wrong
      def finish!
        problems = SETTINGS.filter_map { |setting| problem_of(setting) }
        raise ConfigurationError, problems unless problems.empty?

        freeze
      end

      # @return [Boolean] whether rows are kept when their message is delivered
      def keep? = after_delivery == "keep"

      # @param failures [Integer] how often a row was refused
      # @return [Integer] milliseconds until it is tried again
      def backoff_ms(failures)
        [backoff * (2**[failures - 1, 30].min), max_backoff].min
      end

      private

      def problem_of(setting)
        value = public_send(setting.name)
        typed = setting.type.coerce(value)
        return Problem.new("outbox: #{setting.name}", "must be #{setting.type}, is #{value.inspect[0, 80]}") if
          Types.invalid?(typed)

        instance_variable_set(:"@#{setting.name}", typed)
        nil
      end
    end
  end
end
