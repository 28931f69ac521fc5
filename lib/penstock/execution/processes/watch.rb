# frozen_string_literal: true

require_relative "failure"
require_relative "flows"

module Penstock
  module Execution
    module Processes
      # Passes messages between a partition and its unit in a child: marks to the application; interrupts, the partition's loss
      # and the process's stop to the child; and user code's requests to the poll loop. Belongs to the child's {ChildDriver}.
      class Watch
        LOOK_MS = 50
        # How long user code may take to end after an interrupt; less than a time limit's 5 s, after which the application would
        # end.
        PATIENCE_MS = 3_000
        private_constant :LOOK_MS, :PATIENCE_MS

        # @param child [ChildHandle]
        # @param in_flight [InFlight]
        # @param child_context [ChildContext]
        def initialize(child, in_flight, child_context)
          @clock = child_context.clock
          @threads = child_context.threads
          @child = child
          @in_flight = in_flight
          @looked_at = now
          @stopping = false
        end

        # @param force [Boolean] look even if it isn't due yet
        def look(force: false)
          return if !force && now - @looked_at < LOOK_MS
          @looked_at = now
          state = @child.state
          entry = state && @in_flight[state.unit]
          entry&.mark(state.through)
          tell_about(entry) if entry
          interrupt
          out_of_reach(entry) if entry&.interrupt
        end

        # User code waits for an answer. A thread of its own waits for it here too: the child must be watched meanwhile.
        # @param number [Integer]
        # @param unit [Integer]
        def question(number, unit, kind, *arguments)
          look(force: true)
          asker = (kind == :commit) ? @in_flight[unit] : @in_flight.origin(unit)
          return @child.tell(:answer, [number, false]) unless asker
          @threads.start("penstock answer") { @child.tell(:answer, [number, answer(asker, kind, *arguments)]) }
        rescue ThreadError
          @child.tell(:answer, [number, false])
        end

        # User code requests something without waiting, even if its unit has ended.
        # @param wish [Symbol, Array] :commit, :metadata with its text, or a flow
        def wish(unit, wish, text = nil)
          origin = @in_flight.origin(unit) or return
          return origin.lane.marks.store_metadata(text) if wish == :metadata
          look(force: true) if wish == :commit
          origin.loop_client.request(origin.lane, wish.is_a?(Array) ? Flows.load(wish) : wish)
        end

        private

        def answer(asker, kind, *arguments)
          case kind
          when :commit then asker.loop_client.commit(asker.lane, asker.unit.incarnation)
          when :offset_at then asker.loop_client.offset_at(asker.lane, *arguments)
          end
        rescue => error
          Failure.dump(error)
        end

        def tell_about(entry)
          marks = entry.lane.marks
          once(entry, :leaving) if marks.leaving?
          once(entry, :disowned) unless marks.owned?
          return if @stopping || !entry.loop_client.stopping?
          @stopping = true
          @child.tell(:changed, [entry.id, :stopping])
        end

        def once(entry, what)
          return if entry.sent.include?(what)
          entry.sent << what
          @child.tell(:changed, [entry.id, what])
        end

        def interrupt
          @in_flight.to_a.each do |entry|
            next unless entry.interrupt && !entry.sent.include?(:interrupt)
            entry.sent << :interrupt
            @child.tell(:interrupt, [entry.id, Failure.dump(entry.interrupt)])
          end
        end

        # If an interrupt doesn't end a unit, its process is killed: the application needn't end for it.
        def out_of_reach(entry)
          @interrupted_at = now unless @reaching == entry.id
          @reaching = entry.id
          @child.kill if now - @interrupted_at > PATIENCE_MS
        end

        def now = @clock.monotonic_ms
      end
    end
  end
end
