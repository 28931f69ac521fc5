# frozen_string_literal: true

module Penstock
  module Processing
    module Failure
      # Computes the names by which errors are compared. Stateless.
      module ErrorNames
        # Ruby classes that errors have in common without being alike. The class of an error itself always counts.
        COMMON = %w[
          ArgumentError BasicObject EncodingError Exception FiberError IOError IndexError LoadError NameError
          Object RangeError RuntimeError ScriptError SecurityError StandardError SystemCallError ThreadError TypeError
        ].freeze
        # Number of causes that are looked at: a library wraps the error of another one, which wraps the system's.
        CAUSES = 4
        private_constant :COMMON, :CAUSES

        class << self
          # Two errors are alike if these lists have a name in common: that of the class, or of a superclass that an application
          # or a library has defined.
          # @param error [Exception]
          # @return [Array<String>] the class itself first
          def alike(error)
            own, *above = classes(error)
            [remote(error) || own, *(above - COMMON)].compact
          end

          # @param error [Exception]
          # @return [Array<String>] names of its class and all superclasses, and of those of its causes
          def with_causes(error) = chain(error).flat_map { |one| [*remote(one), *classes(one)] }

          # @param error [Exception]
          # @return [Array<Exception>] itself and its causes
          def chain(error)
            chain = []
            while error && chain.size < CAUSES
              chain << error
              error = error.cause
            end
            chain
          end

          private

          # A class without a name counts as its superclass.
          def classes(error) = error.class.ancestors.grep(Class).filter_map(&:name)

          # An error of another process, whose class this one doesn't know.
          def remote(error)
            return unless error.respond_to?(:remote_class)
            error.remote_class unless error.remote_class.to_s.empty?
          end
        end
      end
    end
  end
end
