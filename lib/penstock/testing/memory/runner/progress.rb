# frozen_string_literal: true

require_relative "../../../runtime/loop/mailbox"

module Penstock
  module Testing
    module Memory
      class Runner
        # Finds out whether a process has anything left to do. Changes nothing, except that it requests the last commit: a
        # running process would send it after `auto.commit.interval.ms`.
        class Progress
          # Holds that end only when user code does something: the records that they hold back count as waiting, not as work.
          PASSIVE = %i[user window pressure].freeze
          private_constant :PASSIVE

          # @param process [Process]
          def initialize(process)
            @process = process
            @world = process.world
            @committing = {}.compare_by_identity
          end

          # @return [:busy, Integer, nil] :busy while something is in progress; else virtual ms of what is due next; nil when
          #   nothing will happen by itself, except ticks
          def state
            return if @process.dead? || @process.ended?
            return :busy if @process.units.any? || connections.any? { |connection| busy?(connection) }
            dues = lanes.map { |lane| state_of(lane) }
            return :busy if dues.include?(:busy) || request_commits.any?
            dues.compact.min
          end

          # @return [Array<Processing::Lane>]
          def lanes = connections.flat_map { |connection| connection.loop.parts&.connection&.all.to_a }

          # Wakes the loops that have something to read.
          # @return [void]
          def wake_readers
            connections.each { |connection| connection.wake(connection.driver) unless connection.loop.mailbox.empty? }
          end

          private

          def connections = @process.connections.reject(&:ended?)

          def busy?(connection)
            parts = connection.loop.parts or return true
            return true unless connection.loop.mailbox.empty?
            parts.rebalancing_or_stopping? || parts.committer.awaited? || parts.feeder.ends_pending? ||
              parts.dead_letters.size.positive? || parts.connection.orphaned_units.any? || !settled?(connection.driver)
          end

          def settled?(driver) = driver.direct? ? !driver.busy? : !driver.group.member_of(driver).nil? && driver.group.settled?

          def state_of(lane)
            return :busy unless lane.idle?
            held = lane.holds.to_h.reject { |reason, due| due.nil? && PASSIVE.include?(reason) }
            return held.each_value.include?(nil) ? :busy : held.each_value.min unless held.empty?
            return unless lane.holds.open? # paused
            waiting(lane)
          end

          def waiting(lane)
            due = [lane.intake.due, lane.division.next_due].compact.min
            return due if due
            drained = lane.intake.empty? && lane.division.empty? && drained?(lane)
            drained ? nil : :busy
          end

          def drained?(lane)
            source = lane.assignment.source
            source.drained? && !(lane.takes.ready && lane.wanted.positive?)
          end

          # @return [Array<Processing::Lane>] those whose commit is still to be answered
          def request_commits
            open = lanes.select { |lane| lane.owned? && !lane.commit_state.undecided? && lane.commit_state.uncommitted? }
            open.select { |lane| request(lane) }
          end

          # Requested once for each state of the ledger: a commit that the group refuses isn't repeated without an end.
          # @return [Boolean] whether its answer may still come
          def request(lane)
            version = [lane.ledger.version, lane.committable_offset]
            asked, at = @committing[lane]
            return @world.timeline.now - at < 1_000 if asked == version
            @committing[lane] = [version, @world.timeline.now]
            mailbox_of(lane).post(Runtime::Mailbox::Request.new(lane, :commit))
            true
          end

          def mailbox_of(lane) = lane.assignment.slot.mailbox
        end
      end
    end
  end
end
