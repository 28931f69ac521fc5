# frozen_string_literal: true

require_relative "../../printable"
require_relative "values"

module Penstock
  module Testing
    # Expectations of tests, for assertions and for RSpec: one object for each, with the methods that RSpec calls.
    module Matchers
      # Base class. Created for one expectation; {#matches?} is called once, then a message may be asked for.
      class Matcher
        ANY = Values::ANY
        # Longest value in a message, in bytes.
        VALUE_BYTES = 250
        # Most entries that a message lists.
        LISTED = 10

        # @param kit [Kit] of the example
        def initialize(kit)
          @kit = kit
        end

        # @!method matches?(actual)
        #   @return [Boolean]

        # @return [String] what is expected, after "is expected to"
        def description = raise(NotImplementedError)

        # @return [String]
        def failure_message = "expected #{subject} to #{description}, but #{found}"

        # @return [String]
        def failure_message_when_negated = "expected #{subject} not to #{description}, but #{found}"

        # For RSpec: `expect { … }` is only allowed where a matcher answers true.
        # @return [Boolean]
        def supports_block_expectations? = false

        private

        def show(value, limit = VALUE_BYTES)
          described = Values.described(value)
          described ? Printable.line(described, limit) : Printable.inspect(value, limit)
        end

        def given?(expected) = !ANY.equal?(expected)

        # @param values [Hash{String => Object}] expected, by name
        # @return [String] `with key "42" and payload nil`; empty if nothing is expected
        def with(values)
          texts = values.select { |_name, value| given?(value) }.map { |name, value| "#{name} #{show(value)}" }
          texts.empty? ? "" : " with #{[texts[0..-2].join(", "), texts.last].reject(&:empty?).join(" and ")}"
        end

        # @param entries [Array<String>]
        # @return [String] a line for each
        def list(entries)
          more = entries.size - LISTED
          [*entries.first(LISTED), *("… and #{more} more" if more.positive?)].map { |entry| "\n  #{entry}" }.join
        end
      end
    end
  end
end
