# frozen_string_literal: true

require_relative "../../execution/middleware_stack"
require_relative "../../runtime/loop/group/commit_codec"
require_relative "../../runtime/process_context"

module Penstock
  module Testing
    module Memory
      # Holds what the poll loops of a process share. Everything is real except the threads, and the files and brokers that they
      # would wait for. Subclasses set the reporter and the pool.
      class Host < Runtime::ProcessContext
        # No machine loses a wake-up here, and the safeguard would repair what must not happen.
        INTERVALS = [10_000, Float::INFINITY, 1_000].freeze
        private_constant :INTERVALS

        # @param instance [Instance]
        # @param options [Hash] as of {Runtime::ProcessContext}
        def initialize(instance, **options)
          @instance = instance
          super(clock: instance.world.clock, codec: Runtime::CommitCodec.new, **options)
        end

        # @return [Array(Numeric, Numeric, Numeric)] ms
        def turn_intervals(_group) = INTERVALS

        # Finds out how a transaction ended, alongside the loop.
        def resolve_transaction(claim, mailbox)
          @instance.aside { |nap| Runtime::TransactionResolver.new(claim, mailbox, pause: nap).run }
        end

        # Nothing is written to disk.
        def dump_flight(_reason, _loops) = nil

        private

        # Nothing is forked, and no thread is started.
        def build_executors(...) = nil
      end
    end
  end
end
