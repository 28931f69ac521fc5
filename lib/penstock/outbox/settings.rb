# frozen_string_literal: true

require_relative "../config/types"
require_relative "../doubling"
require_relative "../errors"
require_relative "../nearest"

module Penstock
  module Outbox
    # The object that `Penstock::Outbox.setup { |config| … }` yields: a setter and a getter for every setting. {#finish!}
    # checks all of them at once and freezes it. Times are Integer milliseconds, sizes bytes.
    class Settings
      # A class or its name; the name is resolved on first use, so that setting up loads no model.
      # @api private
      class ClassName
        def coerce(value)
          return value.name if value.is_a?(Class) && value.name
          (value.is_a?(String) && value.match?(/\A(?:::)?[A-Z]\w*(?:::[A-Z]\w*)*\z/)) ? value.dup.freeze : Config::Types::INVALID
        end

        def to_s = "an Active Record class, or its name"
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
          "Active Record class whose connection is used: that of the data the messages are about."),
        Setting.new(:after_delivery, Types::Word.new(:delete, :keep), "delete",
          "Whether a delivered row is deleted, or kept as sent until it is purged."),
        Setting.new(:on_refusal, Types::Word.new(:park, :set_aside), "park",
          "Whether a row that Kafka refuses permanently is retried while rows with its key are held, or " \
          "set aside after `max_attempts` so that rows with its key are sent."),
        Setting.new(:max_attempts, Types::Whole.new(min: 1), 3, "Number of attempts before a refused row is set aside."),
        Setting.new(:backoff, Types::Milliseconds.new(min: 1), 1_000,
          "Time before a refused row is retried; doubles with each attempt."),
        Setting.new(:max_backoff, Types::Milliseconds.new(min: 1), 300_000, "Longest time before a refused row is retried."),
        Setting.new(:batch_size, Types::Whole.new(min: 1, max: 10_000), 500, "Most rows per turn."),
        Setting.new(:batch_bytes, Types::Whole.new(min: 1), 16 * 1_048_576,
          "Most payload bytes per turn; a single row may have more."),
        Setting.new(:poll_interval, Types::Milliseconds.new(min: 1), 500, "Time between two queries while the table is empty."),
        Setting.new(:send_timeout, Types::Milliseconds.new(min: 1_000), 10_000,
          "Time limit for Kafka to acknowledge a message; after that the row is sent again later."),
        Setting.new(:stop_timeout, Types::Milliseconds.new, 30_000, "Time limit for stopping a relay."),
        Setting.new(:lag_interval, Types::Milliseconds.new(min: 1), 10_000, "Time between two `outbox.lag` events."),
        Setting.new(:key_lock, Types::Flag.new, true,
          "Whether `enqueue` locks the key until the transaction ends (PostgreSQL), so that messages of a key are sent in the " \
          "order in which their transactions commit."),
        Setting.new(:require_transaction, Types::Flag.new, true, "Whether `enqueue` raises outside of a transaction."),
        Setting.new(:max_payload_size, Types::Whole.new(min: 1), 1_000_012,
          "Largest payload in bytes, like the producer's setting of the same name."),
        Setting.new(:producer, Types::Responding.new(:call), nil,
          "Creates the relay's producer, which the relay closes; nil for one with the application's settings.")
      ].freeze

      SETTINGS.each { |setting| (setting.name == :producer) ? attr_writer(setting.name) : attr_accessor(setting.name) }

      def initialize
        SETTINGS.each { |setting| instance_variable_set(:"@#{setting.name}", setting.default) }
        @unknown = []
      end

      # Called with a block, sets it, like `producer=`.
      #
      # @yieldreturn [Producer] a new producer for the relay
      # @return [#call, nil]
      def producer(&block)
        block ? self.producer = block : @producer
      end

      # @return [self] frozen
      # @raise [ConfigurationError] with everything that is wrong
      def finish!
        problems = [*unknown_problems, *SETTINGS.filter_map { |setting| problem_of(setting) }, parameter_problem].compact
        raise ConfigurationError, problems unless problems.empty?

        freeze
      end

      # @return [Boolean] whether rows are kept after their message was delivered
      def keep? = after_delivery == "keep"

      # @param failures [Integer] how often a row was refused
      # @return [Integer] milliseconds until it is retried
      def backoff_ms(failures)
        Doubling.wait(backoff, failures - 1, max_backoff)
      end

      private

      # Collects settings that don't exist while a block sets them, so that they are reported with all other problems.
      def method_missing(name, *)
        return super if frozen? || !name.end_with?("=")

        @unknown |= [name.to_s.delete_suffix("=")]
      end

      # Methods that are only collected don't count as existing.
      def respond_to_missing?(name, all = false) = super

      def unknown_problems
        names = SETTINGS.map(&:name)
        @unknown.map do |name|
          Problem.new("outbox: #{name}", "there is no such setting", Nearest.hint(name, names) || "There are #{names.join(", ")}")
        end
      end

      # A block with a parameter expects settings to change, as the block of the application's `config.producer` gets them.
      def parameter_problem
        return unless producer.respond_to?(:arity) && ![0, -1].include?(producer.arity)

        Problem.new("outbox: producer", "has a parameter, but is called without arguments: it creates the relay's producer",
          "Write `config.producer { Penstock::Producer.new { |own| … } }`, or change the application's config.producer")
      end

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
