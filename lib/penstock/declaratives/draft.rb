# frozen_string_literal: true

require_relative "../config/types"
require_relative "../errors"
require_relative "../nearest"
require_relative "../routing/topic_properties"
require_relative "../user_line"
require_relative "values"

module Penstock
  module Declaratives
    # The block of `declaratives.draw`, of its `defaults` and of its topics. Records what is written; a wrong value or an
    # unknown name is a problem with its place. Used by one thread at boot.
    module Draft
      # Base class of the objects of the DSL.
      class Base
        # @param tolerant_block [Config::TolerantBlock]
        # @param problems [Array<Problem>] receives what is wrong
        # @param place [String]
        def initialize(tolerant_block, problems, place)
          @tolerant_block = tolerant_block
          @problems = problems
          @place = place
        end

        # @api private
        def tolerated_kind = self.class.name

        # @api private
        def unknown(name)
          report("there is no option #{name}", Nearest.hint(name, verbs) || "Available: #{verbs.join(", ")}")
          @tolerant_block.void
        end

        # Runs a user's block on this object.
        # @api private
        def fill(block)
          @tolerant_block.tolerate(self)
          if block
            block.arity.zero? ? instance_exec(&block) : block.call(self)
          end
          self
        end

        def inspect = "#<#{self.class} #{@place}>"

        private

        def verbs = self.class::VERBS

        def report(message, hint = nil)
          problem = Problem.new(@place, message, hint)
          @problems << problem unless @problems.include?(problem)
        end
      end

      # The block of a topic, and of `defaults`.
      class Options < Base
        VERBS = %i[partitions replication_factor config active protect].freeze
        COUNT = Config::Types::Whole.new(min: 1)
        FLAG = Config::Types::Flag.new
        private_constant :COUNT, :FLAG

        # @return [Hash{Symbol => Object}] the values by verb; those of `config` are Strings
        attr_reader :given

        def initialize(...)
          super
          @given = {}
        end

        # @param count [Integer]
        def partitions(count) = keep(:partitions, count, COUNT)

        # @param count [Integer] copies of each partition
        def replication_factor(count) = keep(:replication_factor, count, COUNT)

        # @param value [Boolean] false: commands leave the topic as it is
        def active(value) = keep(:active, value, FLAG)

        # Commands refuse to delete the topic.
        # @param value [Boolean]
        def protect(value = true) = keep(:protect, value, FLAG)

        # @param properties [Hash{Symbol, String => Object}] Kafka's properties of a topic, `"retention.ms": 60_000`
        def config(properties = {}, **more)
          return report("config must be a Hash of Kafka's topic properties") unless properties.is_a?(Hash)

          properties = properties.merge(more)
          Routing::TopicProperties.complaints(properties).each { |complaint| report(*complaint) }
          properties.each { |name, value| property(name.to_s, value) }
          nil
        end

        private

        def property(name, value)
          return report("config: #{name} is nil", "Leave it out to keep the broker's value") if value.nil?

          value = text_of(value)
          earlier = (@given[:config] ||= {})[name]
          return report("config: #{name} is set twice, with different values", "Keep one") if
            earlier && !Values.same?(name, earlier, value)

          @given[:config][name] = value
        end

        # Lists, as for `cleanup.policy`, may be given as Arrays.
        def text_of(value) = value.is_a?(Array) ? value.join(",") : value.to_s

        def keep(verb, value, type)
          coerced = type.coerce(value)
          return report("#{verb} is #{value.inspect[0, 80]}, but must be #{type}") if Config::Types.invalid?(coerced)
          return report("#{verb} is set twice, with different values", "Keep one") unless [nil, coerced].include?(@given[verb])

          @given[verb] = coerced
          nil
        end
      end

      # The block of `declaratives.draw` itself.
      class Draw < Base
        VERBS = %i[defaults topic].freeze
        NAME = Config::Types::Name.new
        private_constant :NAME

        # A topic as written.
        Entry = Struct.new(:name, :given, :location)

        # @return [Array<Entry>]
        attr_reader :topics
        # @return [Hash{Symbol => Object}] values of topics that don't set them themselves
        attr_reader :shared

        def initialize(tolerant_block, problems)
          super(tolerant_block, problems, "declaratives")
          @topics = []
          @shared = {}
        end

        # Values of topics that don't set them themselves.
        def defaults(&block)
          @shared = @shared.merge(options("declaratives: defaults", block)) { |_verb, earlier, later| both(earlier, later) }
          nil
        end

        # @param name [String, Symbol]
        def topic(name = nil, &block)
          legal = NAME.coerce(name)
          return report("topic: #{name.inspect[0, 80]} is not a valid name", "It must be #{NAME}") if Config::Types.invalid?(legal)

          location = UserLine.find
          @topics << Entry.new(legal, options(["declaratives: topic #{legal}", ("(#{location})" if location)].compact.join(" "),
            block), location)
          nil
        end

        private

        def options(place, block) = Options.new(@tolerant_block, @problems, place).fill(block).given

        def both(earlier, later) = earlier.is_a?(Hash) ? earlier.merge(later) : later
      end
    end
  end
end
