# frozen_string_literal: true

require "penstock/testing/memory/kafka/cluster"
require_relative "checking/accessors"
require_relative "checking/admission"
require_relative "checking/breakers"
require_relative "checking/commits"
require_relative "checking/copies"
require_relative "checking/executions"
require_relative "checking/hops"
require_relative "checking/letters"
require_relative "checking/ownership"
require_relative "checking/pools"
require_relative "checking/retries"
require_relative "checking/ticks"
require_relative "checking/turns"
require_relative "truth"

module Penstock
  module TestSupport
    module Sim
      # Knows the truth (logs, executions, commits) and checks at every event whether the invariants of delivery still
      # hold:
      #
      # I1 no loss · I2 nothing invented · I3 order · I4 no overlap · I5 nothing done runs again without a cause · I6 committed
      # is complete · I7 committed goes back only by a seek or a reset · I9 progress after faults (checked by the world)
      # · I10 an end in time · I8 copies made in transactions · I12 dead letters ·
      # I13 no lane with something to do is left out of the loop's turns. A violation ends the run.
      class Checker < Testing::Memory::Kafka::Cluster::Observer
        include Checking::Ticks
        include Checking::Accessors
        include Checking::Admission
        include Checking::Breakers
        include Checking::Commits
        include Checking::Copies
        include Checking::Executions
        include Checking::Hops
        include Checking::Letters
        include Checking::Ownership
        include Checking::Pools
        include Checking::Retries
        include Checking::Turns

        # Events of the loop that are checked.
        EVENTS = %w[error.occurred consumer.offset_reset offsets.unavailable client.reset offsets.metadata_reduced
          offsets.metadata_ignored rebalance.unit_left_running consumer.discontinuity consumer.consuming.seek
          dead_letter_queue.dispatched retry_topic.dispatched consumer.skipped filtering.dropped filtering.expired filtering.seek
          filtering.throttled breaker.opened breaker.closed consumer.suspected offsets.reopened consumer.redelivery].freeze
        # Events that only show that a situation occurred.
        TOLD = {"client.reset" => "connection reopened", "rebalance.unit_left_running" => "revocation outlasted its drain",
                "filtering.throttled" => "held by admission",
                "offsets.reopened" => "transaction: read again",
                "consumer.suspected" => "suspects"}.freeze
        # Errors of code that is wrong: neither the simulated users nor brokers raise them, but the simulator's own code does,
        # where it runs inside theirs and calls what was renamed. They would count as failures of theirs.
        DEFECTS = [NameError, ArgumentError, TypeError, IndexError].freeze
        private_constant :TOLD, :DEFECTS
        # An invariant that doesn't hold.
        Violation = Struct.new(:invariant, :text) do
          def to_s = "#{invariant}: #{text}"
        end

        # @return [Violation, nil] the first
        attr_reader :violation
        attr_reader :truths

        # @param world [World]
        def initialize(world)
          super()
          @world = world
          @plan = world.plan
          @coverage = world.coverage
          @truths = []
          @of_place = Hash.new { |hash, place| hash[place] = [] }
          @order = Hash.new(0)
          @checked = Hash.new(0)
          @busy = []
          @maps = {}
          @reduced = {}
          @begun = {}
          @calls = []
          @straggler = {}
          @taken_at = Hash.new(0)
          @taken_step = Hash.new(0)
          @of_key = Hash.new { |hash, key| hash[key] = [] }
          @back = {}
          @said_at = {}
          @trouble = {}
          @revoked_at = {}
        end

        def fail(invariant, text)
          @violation ||= Violation.new(invariant, "at #{@world.timeline.now} ms: #{text}")
        end

        # @param filtered [Boolean] whether the users' filter removes it
        # @param origin [Truth, nil] the record that failed, for a record of a retry topic
        def produced(place, record, filtered: false, origin: nil)
          truth = Truth.new(@truths.size, place, record, origin)
          truth.filtered = truth.exempt = filtered
          truth.arrived_at = @world.timeline.now
          @truths << truth
          @of_place[place] << truth
          sequence(truth)&.push(truth)
        end

        # These records are no longer in the log.
        def gone(records)
          records.each { |record| truth_in(record.payload, record.headers).exempt = true }
        end

        # The log was truncated: from now on records below the old end may be skipped because of earlier commits.
        def cut(place, old_end)
          @cuts ||= {}
          @cuts[place] = [@cuts[place] || 0, old_end].max
          excuse(place, 0, 5)
          @back[place] = 0
          @checked[place] = 0
        end

        # The offsets that were complete beyond the committed ones can't be read any more.
        def damaged
          @of_place.each_key { |place| excuse(place, committed(place), 1) }
        end

        def cut_below?(place, offset) = @cuts&.key?(place) && offset < @cuts[place]

        def event(instance, name, payload)
          case name
          when "error.occurred" then error(instance, payload)
          when "offsets.metadata_reduced" then reduced(instance, payload)
          when "consumer.offset_reset" then reset(payload)
          when "consumer.consuming.seek" then excuse(payload.values_at(:topic, :partition), payload[:message].offset, 1)
          when "consumer.discontinuity" then discontinuity(instance, payload)
          when "dead_letter_queue.dispatched", "retry_topic.dispatched", "filtering.expired"
            letter_settled(instance, payload)
          when "consumer.skipped" then skipped(instance, payload)
          when "filtering.dropped" then dropped(payload)
          when "filtering.seek" then went_elsewhere(payload)
          when "breaker.opened" then breaker_opened(instance, payload)
          when "breaker.closed" then breaker_closed(instance, payload)
          when "consumer.redelivery" then @coverage.hit("redelivered: #{(@plan.mode == :whole) ? "in order" : "by key"}")
          else @coverage.hit(TOLD[name]) if TOLD.key?(name)
          end
        end

        # The run has ended.
        def over
          open = uncopied
          fail("I8", open) if open
          inexact = inexact_end
          fail("I12", inexact) if inexact
        end

        # A connection has ended.
        def ended(connection)
          instance = connection.instance
          return if instance.dead?
          late = @world.timeline.now - connection.deadline.at_ms - instance.stood_ms
          fail("I10", "#{connection.name} ended #{late} ms after its deadline") if late > 1_000
        end

        # Checks that everything is processed and committed.
        # @return [String, nil] what is left
        def unfinished
          open = unprocessed.first
          return "record #{open.uid} at #{open.place.join("/")}/#{open.offset} has not been processed" if open
          @of_place.each_key do |place|
            log = @world.cluster.log(*place)
            at = @world.group.committed[place]&.offset
            next if at == log.high || reached_before_cut?(place, at, log.high)
            next if @of_place[place].any? { |truth| truth.offset == at && left?(truth, @world.group.owner(place)) }
            return "#{place.join("/")} is committed at #{at.inspect}, its end is #{log.high}"
          end
          unreached || unfulfilled
        end

        def inspect = "#<Checker>"

        def truth_of(message) = truth_in(message.raw_payload, (message.raw_headers if @plan.tiers || @plan.hops))

        private

        def truth_in(payload, headers) = @truths.fetch((headers&.[](Truth::NUMBER) || payload).to_i)

        def unprocessed
          @truths.lazy.select { |truth| truth.open? && !truth.paused && !cut_below?(truth.place, truth.offset) }
        end

        # The log was cut, and its new end isn't beyond the old one, where its owner waits: it has nothing to commit.
        def reached_before_cut?(place, at, high) = @cuts&.key?(place) && (at ? at > high : high <= @cuts[place])

        # Its user left it incomplete, and for its owner it still is, even if another owner has done it.
        def left?(truth, owner) = truth.paused && (truth.redo || !truth.done || !truth.done_by.equal?(owner))

        def committed(key) = @world.group.committed[key]&.offset || 0

        def error(instance, payload)
          error = payload[:error]
          return unless DEFECTS.any? { |defect| error.is_a?(defect) } || loop_failed?(payload)
          fail("I11",
            "#{instance&.name}: #{payload[:type]}: #{error.class}: #{error.message}\n#{error.backtrace&.first(8)&.join("\n")}")
        end

        def loop_failed?(payload)
          payload[:type] == "connection.listener.fetch_loop.error" && !payload[:error].message.include?("simulated")
        end

        # A take may hold records from before and after the log was truncated; otherwise nothing may be missing between
        # two takes.
        def discontinuity(instance, payload)
          return if @cuts&.key?(payload.values_at(:topic, :partition))
          fail("I1", "#{instance.name}: a take that does not follow: #{payload}")
        end

        # The broker accepts less metadata than the map needs: offsets that don't fit are left out and may run again.
        def reduced(instance, payload)
          @coverage.hit("metadata too large")
          @reduced[[instance.driver, payload.values_at(:topic, :partition)]] = true
        end

        def reset(payload)
          @coverage.hit(payload[:reason].include?("retention") ? "retention passed the lane" : "log cut")
          place = [payload[:topic], payload[:partition]]
          @back[place] = 0
          @of_place[place].each { |truth| truth.licences += 1 } # units that wait in the run queue may still begin
        end
      end
    end
  end
end
