# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Testing
    class Kit
      # The examples that run in this process, and the producers whose messages they receive. Such a producer has a client in
      # memory as long as an example needs it, and then its own again. Examples may run in threads at the same time: a message
      # belongs to the example whose thread produced it. Any thread; one per process, and a forked child has a copy.
      module Examples
        # Thread variable, and since Ruby 3.2 a fiber's storage, which threads and fibers started from there inherit.
        KEY = :penstock_kit
        INHERITED = (RUBY_VERSION.split(".").map(&:to_i) <=> [3, 2]) >= 0 # gems give older Rubies a part of it
        private_constant :KEY, :INHERITED

        @lock = Mutex.new
        @open = []
        @holders = Hash.new(0).compare_by_identity
        @substituted = {}.compare_by_identity

        class << self
          # The calling thread belongs to the example from now on.
          # @param kit [Kit]
          # @return [void]
          def begin(kit)
            @lock.synchronize { @open |= [kit] }
            bind(kit)
          end

          # @param kit [Kit]
          # @return [void]
          def end(kit)
            @lock.synchronize { @open -= [kit] }
            bind(nil) if bound.equal?(kit)
          end

          # Runs the block as a part of the example.
          # @param kit [Kit]
          def within(kit)
            before = bound
            bind(kit)
            yield
          ensure
            bind(before)
          end

          # Messages of the producer are kept in memory from now on, until everyone who holds it has released it.
          # @param producer [Producer, Producer::Variant]
          # @yieldreturn [MemoryClient] its client
          # @return [void]
          def hold(producer)
            @lock.synchronize do
              @substituted[producer] = producer.substitute(yield) if (@holders[producer] += 1) == 1
            end
          end

          # @param producer [Producer, Producer::Variant]
          # @return [void]
          def release(producer)
            @lock.synchronize do
              next unless (@holders[producer] -= 1).zero?

              @holders.delete(producer)
              producer.restore if @substituted.delete(producer)
            end
          end

          # @return [Kit, nil] the example to which a message of the calling thread belongs; nil outside of examples
          # @raise [AmbiguousMessageError] several examples run, and none of them started this thread
          def current
            kits = @open
            kit = of_thread(kits)
            return kit if kit || kits.size < 2

            raise AmbiguousMessageError, "#{kits.size} examples run at once, and the thread #{Thread.current.inspect} " \
              "belongs to none of them: wrap what it does in `penstock.within { … }` of its example"
          end

          # @return [Kit, nil] the example to which the calling thread belongs; nil outside of examples, and if that isn't known
          def of_thread(kits = @open)
            kit = bound
            return kit if kit&.open?

            kits.first if kits.size == 1
          end

          private

          def bound = Thread.current.thread_variable_get(KEY) || (Fiber[KEY] if INHERITED)

          def bind(kit)
            Thread.current.thread_variable_set(KEY, kit)
            Fiber[KEY] = kit if INHERITED
          end
        end
      end
    end
  end
end
