# frozen_string_literal: true

require_relative "../kit"
require_relative "matcher"
require_relative "values"

module Penstock
  module Testing
    module Matchers
      # Whether the code under test has produced such a message. Messages that the test itself has produced, to be consumed, don't
      # count.
      class Produced < Matcher
        NAMES = %i[topic key payload headers partition].freeze
        private_constant :NAMES

        # @return [Array<Kit::ProducedMessage>] those that match
        attr_reader :matching

        # @param kit [Kit]
        # @param topic [String, Symbol, #===]
        # @param key [String, nil, #===]
        # @param payload [Object, #===] its bytes, or what the topic's deserializer (without a route: JSON) makes of them
        # @param headers [Hash{String => Object}, #===] there may be others
        # @param partition [Integer, #===] 0 for a message without one
        # @param count [Integer, Range, nil] how many; nil: at least one
        def initialize(kit, topic = ANY, key: ANY, payload: ANY, headers: ANY, partition: ANY, count: nil)
          super(kit)
          topic = topic.to_s if topic.is_a?(Symbol)
          @expected = {topic: topic, key: key, payload: payload, headers: headers, partition: partition}
          @count = count
        end

        # @param actual [Kit, Proc] a block: only what it produces counts
        # @return [Boolean]
        def matches?(actual)
          @produced = produced_by(actual)
          @matching = @produced.select { |message| differences(message).empty? }
          @count ? @count === @matching.size : @matching.any?
        end

        def supports_block_expectations? = true

        def description = "have produced #{wanted}"

        def failure_message = "expected #{wanted}, but #{found}"

        def failure_message_when_negated
          return "expected not exactly #{wanted}, but #{found}" if @count

          "expected no#{wanted.delete_prefix("a")}, but #{found}"
        end

        private

        def produced_by(actual)
          return @kit.messages_of_code if actual.is_a?(Kit)

          unless actual.respond_to?(:call)
            raise ArgumentError, "messages are expected of `penstock` or of a block, not of #{show(actual)}"
          end
          before = {}.compare_by_identity
          @kit.produced_messages.each { |message| before[message] = true }
          actual.call
          @kit.messages_of_code.reject { |message| before.key?(message) }
        end

        # @return [Array<Symbol>] names of the values that are not as expected
        def differences(message) = NAMES.reject { |name| as_expected?(name, @expected[name], message) }

        def as_expected?(name, expected, message)
          case name
          when :payload then Values.match?(expected, message.payload) || Values.match?(expected, @kit.decode(message))
          when :headers then Values.include?(expected, message.headers)
          else Values.match?(expected, message.public_send(name))
          end
        end

        # -- texts --

        def wanted
          number = @count ? "#{@count} #{messages(@count)}" : "a message"
          to = " to #{topic_text}" if given?(@expected[:topic])
          "#{number}#{to}#{with(@expected.except(:topic))}"
        end

        def messages(count) = (count == 1) ? "message" : "messages"

        def topic_text
          @expected[:topic].is_a?(String) ? Printable.line(@expected[:topic], VALUE_BYTES) : show(@expected[:topic])
        end

        def found
          return "nothing was produced#{by_test}" if @produced.empty?

          "#{verdict}:#{list(@produced.map { |message| line(message) })}#{by_test}#{symbols}"
        end

        def verdict
          all = @produced.size
          return "#{@matching.size} of #{all} #{messages(all)} matches" if @matching.any?

          (all == 1) ? "the only message that was produced differs" : "all #{all} messages that were produced differ"
        end

        def line(message)
          differing = differences(message)
          headers = " headers #{show(message.headers)}" if given?(@expected[:headers])
          text = "#{Printable.line(message.topic,
            VALUE_BYTES)}/#{message.partition} key #{show(message.key)}#{headers} payload " \
            "#{show(message.payload)}"
          differing.empty? ? text : "#{text} (not the #{differing.join(", ")})"
        end

        def by_test
          own = @kit.produced_messages.select { |message| message.input && differences(message).empty? }
          return if own.empty?

          "\nA message that the test itself has produced would match; only those of the code under test count"
        end

        def symbols
          return unless @matching.empty? && symbols?(@expected[:payload])

          "\nThe expected payload has Symbols as keys; JSON makes Strings of them"
        end

        # RSpec's matchers have a description only.
        def symbols?(payload)
          payload.is_a?(Hash) ? payload.keys.any?(Symbol) : Values.described(payload).to_s.match?(/[{(]:\w+ ?=>|[{(]\w+: /)
        end
      end
    end
  end
end
