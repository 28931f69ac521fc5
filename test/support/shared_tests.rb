# frozen_string_literal: true

module Penstock
  module TestSupport
    # Extends a module of tests that hold in more than one place: they are written in it with `test`, as in a class, and
    # each class that includes it has them as its own.
    module SharedTests
      # @param name [String]
      def test(name, &body)
        shared_tests << [name, body]
      end

      def included(tests)
        super
        shared_tests.each { |name, body| tests.test(name, &body) }
      end

      private

      def shared_tests = @shared_tests ||= []
    end
  end
end
