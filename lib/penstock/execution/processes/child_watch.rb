# frozen_string_literal: true

require_relative "failure"
require_relative "flows"

module Penstock
  module Execution
    module Processes
      # Passes messages between a partition and its unit in a child: marks to the application; interrupts, the partition's loss
      # and the process's stop to the child; and user code's requests to the poll loop. Belongs to the child's {ChildDriver}.
      class ChildWatch
        CHECK_MS = 50
        # How long user code may take to end after an interrupt; less than a time limit's 5 s, after which the application would
        # end.
        INTERRUPT_MS = 3_000
        private_constant :CHECK_MS, :INTERRUPT_MS

        # @param child [ChildHandle]
        # @param in_flight [InFlight]
        # @param child_context [ChildContext]
        def initialize(child, in_flight, child_context)
          @clock = child_context.clock
          @threads = child_context.threads
          @child = child
          @in_flight = in_flight
          @checked_at = now
          @stopping = false
        end

        # @param force [Boolean] look even if it isn't due yet
        def check(force: false)
          return if !force && now - @checked_at < CHECK_MS
          @checked_at = now
          state = @child.state
          entry = state && @in_flight[state.unit]
          entry&.mark(state.through)
          send_changes(entry) if entry
          interrupt
          kill_if_unresponsive(entry) if entry&.interrupt
        end

        # Answers a query for which user code waits. The answer is awaited on a thread of its own, because the child must be
        # watched meanwhile.
        # @param number [Integer]
        # @param unit [Integer]
        def query(number, unit, kind, *arguments)
          check(force: true)
          asker = (kind == :commit) ? @in_flight[unit] : @in_flight.origin(unit)
          return @child.send_value(:answer, [number, false]) unless asker
          @threads.start("penstock answer") { @child.send_value(:answer, [number, answer(asker, kind, *arguments)]) }
        rescue ThreadError
          @child.send_value(:answer, [number, false])
        end

        # Passes on a request of user code that has no answer; its unit may have ended.
        # @param request [Symbol, Array] :commit, :metadata with its text and its mark's offset, or a flow
        def request(unit, request, text = nil, offset = nil)
          origin = @in_flight.origin(unit) or return
          return metadata(origin.lane.marks, text, offset) if request == :metadata
          check(force: true) if request == :commit
          origin.loop_client.request(origin.lane, request.is_a?(Array) ? Flows.load(request) : request)
        end

        private

        def metadata(marks, text, offset) = offset ? marks.metadata_reported(offset, text) : marks.store_metadata(text)

        def answer(asker, kind, *arguments)
          case kind
          when :commit then asker.loop_client.commit(asker.lane, asker.unit.incarnation)
          when :offset_at then asker.loop_client.offset_at(asker.lane, *arguments)
          end
        rescue => error
          Failure.dump(error)
        end

        # A partition that isn't owned is also being left. If the child learned that first, user code that waits for `revoked?`
        # could still mark.
        def send_changes(entry)
          leaving = entry.lane.marks.leaving?
          owned = entry.lane.marks.owned?
          send_once(entry, :disowned) unless owned
          send_once(entry, :leaving) if leaving && owned
          return if @stopping || !entry.loop_client.stopping?
          @stopping = true
          @child.send_value(:changed, [entry.id, :stopping])
        end

        def send_once(entry, what)
          return if entry.sent.include?(what)
          entry.sent << what
          @child.send_value(:changed, [entry.id, what])
        end

        def interrupt
          @in_flight.to_a.each do |entry|
            next unless entry.interrupt && !entry.sent.include?(:interrupt)
            entry.sent << :interrupt
            @child.send_value(:interrupt, [entry.id, Failure.dump(entry.interrupt)])
          end
        end

        # Kills the child if an interrupt doesn't end its unit, so that the application itself needn't be ended.
        def kill_if_unresponsive(entry)
          @interrupted_at = now unless @reaching == entry.id
          @reaching = entry.id
          @child.kill if now - @interrupted_at > INTERRUPT_MS
        end

        def now = @clock.monotonic_ms
      end
    end
  end
end
