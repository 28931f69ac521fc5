# frozen_string_literal: true

module Penstock
  module Config
    # Runs a block of the user's that calls methods of ours, and turns a call of one that doesn't exist into a record of it
    # instead of an end.
    #
    # A misspelt option must not hide what is wrong after it. So the block is run again from the start, on a fresh object
    # that now has that method, until it gets through. A block is run more than once only when it is wrong already: the
    # process won't start, and says all that is wrong at once.
    class Replay
      # Past so many unknown names it isn't a configuration.
      LIMIT = 50

      # One call of a method that doesn't exist.
      Unknown = Struct.new(:owner, :name)

      # What an unknown method answers: takes any call, because what is called on something unknown says nothing more.
      class Void
        def initialize(replay)
          @replay = replay
          replay.teach(self)
        end

        # @api private
        def replay_kind
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

      # @yieldparam replay [Replay] begin from the start, on objects that ask it with {#teach}
      # @return [Object] what the block returns when it has got through
      def run
        yield self
      rescue NameError => error
        owner = owner_of(error)
        raise unless owner && @unknown.size < LIMIT && learn(owner, error.name)

        retry
      end

      # Gives an object the methods that were missing. Each calls the object's `unknown(name)` and answers what it does.
      #
      # @param object [#replay_kind, #unknown]
      # @return [void]
      def teach(object)
        @unknown.each do |unknown|
          next unless unknown.owner == object.replay_kind

          name = unknown.name
          object.define_singleton_method(name) { |*, **, &_block| unknown(name) }
        end
      end

      # @return [Void] what a method that doesn't exist answers
      def void
        Void.new(self)
      end

      private

      # Only for calls on objects of ours: any other NameError is the user's own and goes on.
      def owner_of(error)
        receiver = error.receiver
        receiver.replay_kind if receiver.respond_to?(:replay_kind)
      rescue ArgumentError
        nil
      end

      def learn(owner, name)
        entry = Unknown.new(owner, name)
        @unknown << entry unless @unknown.include?(entry)
      end
    end
  end
end
