# frozen_string_literal: true

require_relative "../config/types"
require_relative "../nearest"
require_relative "arity"

module Penstock
  module Routing
    # The type of `consumer`: a class with `consume`. {.complaints} finds problems of that method.
    class ConsumerClass
      # Defines `consume` only to raise an error. (Named by its name: consumers are a lower layer.)
      ABSTRACT = "Penstock::BaseConsumer"
      # Names of that method in other frameworks.
      ELSEWHERE = %i[perform call process handle run on_message execute].freeze
      private_constant :ABSTRACT, :ELSEWHERE

      class << self
        # @param type [Class]
        # @return [Array<(String, String)>] messages and hints
        def complaints(type)
          return [["#{type} isn't a consumer: it inherits from #{type.superclass}", "Write `class #{type} < #{ABSTRACT}`"]] unless
            type.method_defined?(:penstock_context=)

          of_consume(type) + of_initialize(type)
        end

        private

        def of_consume(type)
          method = method_of(type) or return [["#{type} has no method `consume`", instead(type)]]
          return [["`consume` of #{type} is private", "Move it above `private`: it is called by Penstock"]] unless
            type.public_method_defined?(:consume)

          surplus = Arity.surplus(method) or return []
          [["`consume` of #{type} #{surplus}, but it is called without arguments",
            "Write `def consume` and read the records from `messages`: messages.each { |message| … }"]]
        end

        def of_initialize(type)
          surplus = Arity.surplus(type.instance_method(:initialize)) or return []
          [["`initialize` of #{type} #{surplus}, but Penstock creates consumers with `#{type}.new`",
            "Remove the arguments; set up what the consumer needs in a method `initialized`, or on first use"]]
        end

        def method_of(type)
          return unless type.method_defined?(:consume) || type.private_method_defined?(:consume)

          type.instance_method(:consume).then { |method| method unless method.owner.name == ABSTRACT }
        end

        def instead(type)
          own = own_methods(type)
          other = (ELSEWHERE & own).first || Nearest.to("consume", own)
          return "Define it: def consume = messages.each { |message| … }" unless other

          "Rename `#{other}` to `consume`: it takes no argument, the records are in `messages`"
        end

        def own_methods(type)
          classes = type.ancestors.take_while { |ancestor| ancestor.name != ABSTRACT && ancestor != Object }
          classes.flat_map { |ancestor| ancestor.instance_methods(false) + ancestor.private_instance_methods(false) }
        end
      end

      def coerce(value) = value.is_a?(Class) ? value : Config::Types::INVALID

      def to_s
        "a class with a method `consume`, such as a subclass of Penstock::BaseConsumer"
      end
    end
  end
end
