# frozen_string_literal: true

module Penstock
  module TestSupport
    # Extends a contract: what holds in more than one place is written in it once, with `rule`, and a class takes all of it as
    # tests of its own with `Contract.add_to(self)`. Unlike with {SharedTests} an `include` brings its helpers alone.
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
