# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # The actions of a consumer's `each` besides yielding messages.
    AdaptiveIterator = Struct.new(:marking_method, :clean_after_yielding) do
      include FrozenStruct

      alias_method :clean_after_yielding?, :clean_after_yielding
    end

    module Features
      # `adaptive_iterator(active: true)`
      module AdaptiveIterator
        CHECK = lambda do |topic, iterator, _settings|
          next [] unless iterator && topic.features[:parallel]

          [["adaptive_iterator doesn't go with parallel: it stops in the middle of an ordered batch",
            "Remove adaptive_iterator: long jobs don't affect the group"]]
        end

        # @return [Feature] whose value is nil if it is off
        def self.feature
          flag = Config::Types::Flag.new
          Feature.new(:adaptive_iterator, positional: :active, check: CHECK,
            options: {active: Feature::Option.new(flag, true), clean_after_yielding: Feature::Option.new(flag, true),
                      safety_margin: Feature::Option.new(Config::Types::Whole.new(min: 1, max: 99), 10),
                      marking_method: Feature::Option.new(Config::Types::Word.new("mark_as_consumed", "mark_as_consumed!"),
                        "mark_as_consumed")},
            description: "The consumer's `each` marks every message after its block, cleans it, and ends when the partition " \
                         "is revoked. `safety_margin` is accepted, without effect: long jobs don't affect the group.",
            value: method(:value))
        end

        def self.value(active:, marking_method:, clean_after_yielding:, **)
          active ? Routing::AdaptiveIterator.new(marking_method.to_sym, clean_after_yielding) : nil
        end
      end
    end
  end
end
