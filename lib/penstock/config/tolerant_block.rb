# frozen_string_literal: true

module Penstock
  module Config
    # Runs a configuration or routing block and records calls of undefined methods, instead of raising at the first one.
    #
    # A misspelt option must not hide other problems. So the block is run again from the start, on a fresh object that
    # now has the missing method, until it returns. A block runs more than once only if it has a mistake: the process
    # won't start, and reports all problems at once. Used by one thread at boot.
    class TolerantBlock
      # A block with more unknown names than this isn't a configuration.
      LIMIT = 50

      # One call of an undefined method.
      Unknown = Struct.new(:owner, :name)

      # Returned by an undefined method; accepts any call, because further calls on an unknown object reveal nothing
      # new.
      class Void
        def initialize(tolerant_block)
          tolerant_block.tolerate(self)
        end

        # @api private
        def tolerated_kind
          "nothing"
        end

        # @api private
        def unknown(_name)
          self
        end
      end

      def initialize
        @unknown = []
      end

      # @yieldparam tolerant_block [TolerantBlock] create fresh objects, and pass each to {#tolerate}
      # @return [Object] what the block returns
      def run
        yield self
      rescue NameError => error
        owner = owner_of(error)
        raise unless owner && @unknown.size < LIMIT && add_unknown(owner, error.name)

        retry
      end

      # Defines the missing methods on an object. Each calls the object's `unknown(name)` and returns its result.
      #
      # @param object [#tolerated_kind, #unknown]
      # @return [void]
      def tolerate(object)
        @unknown.each do |unknown|
          next unless unknown.owner == object.tolerated_kind

          name = unknown.name
          object.define_singleton_method(name) { |*, **, &_block| unknown(name) }
        end
      end

      # @return [Void] return value for an undefined method
      def void
        Void.new(self)
      end

      private

      # Handles calls on Penstock's objects only: any other NameError is the user's own and is raised.
      def owner_of(error)
        receiver = error.receiver
        receiver.tolerated_kind if receiver.respond_to?(:tolerated_kind)
      rescue ArgumentError
        nil
      end

      def add_unknown(owner, name)
        entry = Unknown.new(owner, name)
        @unknown << entry unless @unknown.include?(entry)
      end
    end
  end
end
