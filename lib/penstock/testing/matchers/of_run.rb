# frozen_string_literal: true

require_relative "matcher"
require_relative "of_consumer"

module Penstock
  module Testing
    module Matchers
      # Base class of what is expected of a run of the whole application ({Memory::Run}). Failures print the run.
      class OfRun < Matcher
        # @param kit [Kit]
        # @param topic [String, Symbol, #===]
        # @param expected [Hash{Symbol => Object}] of the record: an Integer, a String or Symbol, or an object with `===`; which
        #   names there are depends on the class (`FIELDS`)
        # @raise [ArgumentError] there is no such name
        def initialize(kit, topic = ANY, **expected)
          super(kit)
          unknown = expected.keys - fields
          raise ArgumentError, "#{unknown.join(", ")} can't be expected here, but #{fields.join(", ")}" if unknown.any?
          @expected = {topic: topic, **expected}.transform_values { |value| value.is_a?(Symbol) ? value.to_s : value }
        end

        # @param attempts [Integer, #===]
        # @return [self] for `.after(3).attempts`
        def after(attempts)
          raise ArgumentError, "attempts can't be expected here" unless fields.include?(:attempts)
          @expected[:attempts] = attempts
          self
        end

        # @return [self]
        def attempts = self

        # @param run [Memory::Run]
        # @return [Boolean]
        # @raise [ArgumentError] it isn't a run
        def matches?(run)
          raise ArgumentError, "a run is expected, as penstock.consume_all returns it, not #{show(run)}" unless
            run.respond_to?(:dead_lettered)
          @run = run
          entries.any? { |entry| fits?(entry) }
        end

        def description = "have #{verb}#{what}"

        private

        def fields = self.class::FIELDS
        def subject = "the run"
        def found = "in it:\n#{@run.to_s.gsub(/^/, "  ")}"

        # Only what an entry knows can be expected of it.
        def fits?(entry)
          wanted.all? do |name, expected|
            actual = entry.public_send(name)
            Values.match?(expected, actual.is_a?(Symbol) ? actual.to_s : actual)
          end
        end

        def wanted = @expected.select { |_name, value| given?(value) }

        def what
          topic, rest = wanted[:topic], wanted.except(:topic, :attempts)
          "#{" a record" if wanted.empty?}#{" #{topic.is_a?(String) ? topic : show(topic)}" if topic}" \
            "#{with(rest.transform_keys(&:to_s))}#{tries}"
        end

        def tries
          attempts = wanted[:attempts]
          " after #{attempts.is_a?(Integer) ? attempts : show(attempts)} #{(attempts == 1) ? "attempt" : "attempts"}" if attempts
        end
      end

      # Whether a record was dead-lettered in the run. `to:`: the topic of the letter.
      class DeadLetteredInRun < OfRun
        FIELDS = %i[partition offset attempts to].freeze

        private

        def verb = "dead-lettered"
        def entries = @run.dead_lettered
      end

      # RSpec's `have_dead_lettered`, for a run and for a consumer: which of them is only known when it is compared.
      class DeadLetteredAnywhere < Matcher
        # @param kit [Kit]
        # @param expected [Array] see {DeadLetteredInRun} and {DeadLettered}
        # @param more [Hash]
        def initialize(kit, *expected, **more)
          super(kit)
          @expected = expected
          @more = more
          @after = @matcher = nil
        end

        # @see OfRun#after
        def after(attempts)
          @after = attempts
          self
        end

        # @return [self]
        def attempts = self

        # @param actual [Memory::Run, BaseConsumer]
        # @return [Boolean]
        # @raise [ArgumentError] something is expected that it doesn't know
        def matches?(actual)
          type = actual.respond_to?(:dead_lettered) ? DeadLetteredInRun : DeadLettered
          @matcher = type.new(@kit, *@expected, **@more)
          @matcher = @matcher.after(@after) if @after
          @matcher.matches?(actual)
        end

        # @return [String]
        def description = @matcher ? @matcher.description : "have dead-lettered a message"

        # @return [String]
        def failure_message = @matcher.failure_message

        # @return [String]
        def failure_message_when_negated = @matcher.failure_message_when_negated
      end

      # Whether a record was sent to a retry topic in the run. `to:`: the retry topic.
      class SentToRetryTopic < OfRun
        FIELDS = %i[partition offset attempts to].freeze

        private

        def verb = "sent to a retry topic:"
        def entries = @run.sent_to_retry
      end

      # Whether a record was given to a consumer in the run. `attempts`: how often.
      class ConsumedInRun < OfRun
        FIELDS = %i[group partition offset attempts].freeze

        private

        def verb = "consumed"
        def entries = @run.consumed
      end

      # Whether a record was given to a consumer more than once in the run.
      class Retried < OfRun
        FIELDS = %i[group partition offset attempts].freeze

        private

        def verb = "retried"
        def entries = @run.retried
      end

      # Whether a record was consumed again after a rebalance or a crash.
      class Redelivered < OfRun
        FIELDS = %i[group partition offset attempts].freeze

        private

        def verb = "redelivered"
        def entries = @run.redelivered
      end

      # Whether records wait at the end of the run. `reason:`: why.
      class Waiting < OfRun
        FIELDS = %i[partition offset count reason].freeze

        private

        def verb = "waiting records:"
        def entries = @run.waiting
      end

      # Whether this offset was committed in the run: that of the next record to consume.
      class Committed < OfRun
        FIELDS = %i[group partition offset].freeze
        Entry = Struct.new(:group, :topic, :partition, :offset)
        private_constant :Entry

        private

        def verb = "committed"
        def entries = @run.committed.map { |place, offset| Entry.new(*place, offset) }
      end
    end
  end
end
