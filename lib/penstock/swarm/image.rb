# frozen_string_literal: true

require_relative "../errors"
require_relative "../native/handles"
require_relative "../native/heap"

module Penstock
  module Swarm
    # Prepares what all nodes share: the application as it is when they are forked. The more of it is loaded by then, and the
    # fewer pages are written afterwards, the more memory they share.
    module Image
      # Files that a server loads only when it connects, or needs them.
      LATE = %w[runtime/loop/loop_parts execution/placement runtime/letter_topics].freeze
      # An object is old to Ruby once it has survived this many collections; until then each collection writes into it.
      AGES = 3
      # Free object slots at the fork, per used one. With less than a fifth free after a collection, Ruby enlarges its heap by
      # half, in each node separately.
      ROOM = 0.4
      private_constant :LATE, :AGES, :ROOM

      class << self
        # Everything that is done before the first fork; nodes share its results.
        # @param application [#eager_load, #monitor, #server_id]
        # @raise [ConfigurationError] see {check!}
        def prepare(application)
          check!
          load_all(application)
          application.monitor.instrument("app.before_warmup", {server_id: application.server_id})
          check!
          pack
        end

        # Loads the files that would be loaded late.
        # @param application [#eager_load]
        # @return [void]
        def load_all(application)
          application.eager_load
          LATE.each { |file| require_relative "../#{file}" }
          Object.const_get(:Rails).application&.eager_load! if rails?
          Object.const_get(:Zeitwerk)::Loader.eager_load_all if Object.const_defined?(:Zeitwerk)
        end

        # Puts memory in order: objects close together and old, without free space between those that stay, into which each node
        # would write its own objects.
        # @return [void]
        def pack
          warmup? ? ::Process.warmup : settle
          Native::Heap.fill
        end

        # @raise [ConfigurationError] something is open to Kafka: its threads don't survive a fork
        def check!
          problems = Native::Handles.open.map do |line|
            Problem.new("swarm", "nodes must be forked before anything is open to Kafka: #{line}",
              "Open it in a listener of swarm.node.after_fork, or close it before the boot file has ended")
          end
          problems << NO_FORK unless ::Process.respond_to?(:fork)
          problems << ELSEWHERE unless Thread.current == Thread.main
          raise ConfigurationError.new(problems) if problems.any?
        end

        NO_FORK = Problem.new("swarm", "this Ruby can't fork", "Start several servers: they share the partitions")
        # The kernel signals nodes when the thread that forked them ends.
        ELSEWHERE = Problem.new("swarm", "nodes can only be forked from the main thread", "Run `penstock swarm`")
        private_constant :NO_FORK, :ELSEWHERE

        private

        def settle
          GC.compact if GC.respond_to?(:compact)
        rescue NotImplementedError # raised on some systems
          nil
        ensure
          AGES.times { GC.start }
          make_room
        end

        def make_room
          wanted = (GC.stat(:heap_live_slots) * ROOM).to_i
          return if GC.stat(:heap_free_slots) >= wanted
          # Emptied, because a reference left on the stack would keep all of them alive.
          uncollected { Array.new(wanted) { Object.new }.clear }
          GC.start
        end

        def uncollected
          was_disabled = GC.disable
          yield
        ensure
          GC.enable unless was_disabled
        end

        def warmup? = ::Process.respond_to?(:warmup)

        def rails? = Object.const_defined?(:Rails) && Object.const_get(:Rails).respond_to?(:application)
      end
    end
  end
end
