# frozen_string_literal: true

module Penstock
  module TestSupport
    # Extends a contract, a module of rules that hold in more than one place: each rule is written once with `rule`, and
    # a class takes all of them as tests of its own with `Contract.add_to(self)`. Unlike with {SharedTests}, `include`
    # adds only the helpers.
    module Rules
      # @param name [String]
      def rule(name, &body) = rules << [name, body]

      # @param tests [Class<TestCase>]
      def add_to(tests) = rules.each { |name, body| tests.test(name, &body) }

      private

      def rules = @rules ||= []
    end
  end
end
