# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../../nearest"
require_relative "../../user_line"
require_relative "../../compat/karafka/routing"

module Penstock
  module Routing
    module Dsl
      # Base class of the routing DSL's objects: they write into one {Draft}, and an unknown verb is a problem with its
      # place and the nearest verb.
      class Base
        # Verbs of a level in addition to those of topics.
        STRUCTURE = %i[topic pattern consumer_group subscription_group delay_topics defaults].freeze
        NAME = Config::Types::Name.new
        private_constant :NAME

        # @param session [Session]
        def initialize(session)
          @session = session
        end

        # @api private
        def tolerated_kind
          self.class.name
        end

        # @api private
        def unknown(name)
          at = location unless topic_verbs? # a topic is found by its name
          report("there is no option #{name}", hint_for(name), location: at)
          @session.tolerant_block.void
        end

        # Runs a user's block on this object.
        # @api private
        def fill(block)
          @session.tolerant_block.tolerate(self)
          if block
            block.arity.zero? ? instance_exec(&block) : block.call(self)
          end
          self
        end

        def inspect
          "#<#{self.class} #{place}>"
        end

        private

        def draft
          @session.draft
        end

        def report(message, hint = nil, at: place, location: nil)
          draft.problem(at, message, hint, location: location)
        end

        # @return [String, nil] the name as a String; nil (and a problem) if it isn't a valid name
        def name_of(value, kind)
          name = NAME.coerce(value)
          return name unless Config::Types.invalid?(name)

          wrong = value.nil? ? "a name is missing" : "#{value.inspect[0, 80]} is not a valid name"
          report(wrong, "It must be #{NAME}", at: "routes: #{kind} #{value.inspect[0, 80]}", location: location)
          nil
        end

        def location = UserLine.find

        def hint_for(name)
          return "#{name} belongs inside of a topic's block" if !topic_verbs? && @session.verbs.include?(name)
          return "#{name} belongs outside of a topic's block" if topic_verbs? && [*STRUCTURE, *Macro.verbs].include?(name)

          Compat::Karafka::Routing.instead(name) || Nearest.hint(name, verbs) || "Available: #{verbs.sort.join(", ")}"
        end

        def topic_verbs?
          false
        end
      end
    end
  end
end
