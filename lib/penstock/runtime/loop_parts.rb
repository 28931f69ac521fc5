# frozen_string_literal: true

require_relative "../consumer/context"
require_relative "../consumer/pool"
require_relative "../execution/run_queue"
require_relative "../processing/assembly"
require_relative "breakers"
require_relative "committer"
require_relative "dead_letters"
require_relative "driver_events"
require_relative "feeder"
require_relative "hooks"
require_relative "insights"
require_relative "lag_compensation"
require_relative "letter_watch"
require_relative "link"
require_relative "offset_slots"
require_relative "opening"
require_relative "patience"
require_relative "ports"
require_relative "rebalances"
require_relative "session"
require_relative "settler"
require_relative "stopping"
require_relative "suspicion"
require_relative "ticker"
require_relative "time_limits"
require_relative "waiting"

module Penstock
  module Runtime
    # What a poll loop consists of while one connection is open, put together in one place. Lives on the loop's thread.
    class LoopParts
      attr_reader :dead_letters, :breakers
      attr_reader :session, :committer, :opening, :hooks, :rebalances, :feeder, :settler, :stopping, :events, :waiting, :patience
      attr_reader :ticker, :time_limits, :insights, :slots

      # @return [LagCompensation]
      attr_reader :lag

      # @return [Processing::Recording::Recorder, nil] of lanes that are assigned from now on
      attr_writer :recorder

      # @param group [Routing::SubscriptionGroup]
      # @param driver [Native::Consumer]
      # @param host [Host]
      # @param mailbox [Mailbox]
      # @param orphaned_units [Hash] lanes of earlier connections whose units still run
      # @param hooks [Hooks]
      def initialize(group, driver, host, mailbox, orphaned_units, hooks)
        @host = host
        @hooks = hooks
        @session = Session.new(group: group, driver: driver, host: host, mailbox: mailbox, orphaned_units: orphaned_units)
        @assemblies = Hash.new { |known, topic| known[topic] = assembly(topic) }.compare_by_identity
        @insights = Insights.new(@session)
        @link = Link.new(driver: driver, mailbox: mailbox, host: host, insights: @insights)
        groups
        work
        @events = DriverEvents.new(self)
        @waiting = Waiting.new(@session, @events)
        @patience = Patience.new(@session, @host.max_poll_interval_ms(@session.group))
        @ticker = Ticker.new(@session)
        @lag = LagCompensation.new(driver, host, host.settings.lag_compensation, read_committed: host.read_committed?(group))
        @time_limits = TimeLimits.new(@session, @host.method(:stop_because))
        @timed = [@session, @opening, @rebalances, @stopping, @committer, @waiting, @ticker, @time_limits, @dead_letters,
          @breakers, @patience, @slots].freeze
      end

      # Asked on almost every turn, so nothing is allocated for it.
      # @return [Integer, nil] monotonic ms of the next timer
      def next_due
        soonest = nil
        @timed.each do |part|
          due = part.next_due
          soonest = due if due && (soonest.nil? || due < soonest)
        end
        soonest
      end

      # @return [Boolean] whether something goes on that any event may bring forward
      def stirring? = @rebalances.pending? || !@stopping.running?

      # @return [Boolean] whether nothing waits for a unit to end, and nothing could be handed out when one does
      def calm?
        return false if stirring? || @committer.awaited? || @session.orphaned_units.any? || @feeder.ends_untold?
        @session.lanes.none? do |_key, lane|
          lane.ready || !lane.division.empty? || !lane.intake.empty? || lane.suspects&.announced?
        end
      end

      # @return [Boolean] whether units are out
      def working? = @session.lanes.any? { |_key, lane| !lane.idle? }

      # @param id [Integer] of a driver's lane that has something
      def ready(id)
        lane = @session.by_source(id)
        lane.ready = true if lane
      end

      # User code asks for something outside of a unit.
      # @param request [Mailbox::Request]
      def request(request)
        lane = request.lane
        return unless @session.current?(lane) && lane.owned?
        return @committer.want([lane]) if request.flow == :commit
        lane.recording&.asked(request.flow)
        @session.call_back(lane)
        effects = @assemblies.fetch(lane.topic).ask(lane, request.flow, @session.now)
        lane.recording&.effects(effects)
        effects.each { |effect| effect.perform(lane, @ports) }
      end

      # There may be more or fewer workers: so may units of a partition that run at once.
      def widen
        @assemblies.each_value { |assembly| assembly.concurrency = @host.concurrency(assembly.topic) }
        @session.all.each { |lane| widen_lane(lane, @assemblies.fetch(lane.topic).width) if lane.rolling? }
      end

      # Another process has taken this one's place in the group: opening again would only take it back, in turns.
      def fenced(error)
        @rebalances.fenced
        @host.stop_because(error)
      end

      # The connection is about to be closed: nothing of it counts any more.
      def abandon
        @session.all.each do |lane|
          @session.call_back(lane)
          lane.disown!
          @hooks.late(:revoked, lane) unless @stopping.done?
          @session.remove(lane)
        end
        @dead_letters.close
        @breakers.close
        @committer.close
        @slots.close
      end

      private

      def groups
        @committer = Committer.new(@session, codec: @host.codec, interval_ms: @host.commit_interval_ms(@session.group),
          expelled: -> { @rebalances.expelled })
        @opening = Opening.new(@session, codec: @host.codec, committer: @committer,
          source_begins: @host.begins(@session.group), unstable: @host.method(:end_old_transactions))
        @rebalances = Rebalances.new(@session, committer: @committer, opening: @opening, lanes: method(:lane), hooks: @hooks)
        @stopping = Stopping.new(@session, committer: @committer, hooks: @hooks, rebalances: @rebalances)
      end

      def work
        @ports = Ports.new(@session, @committer, @host.method(:stop_because))
        @ports.dead_letters = @dead_letters = DeadLetters.new(@session, @committer, @ports, @link,
          watch: LetterWatch.new(@host.threads, @session.mailbox))
        @suspicion = Suspicion.new(@session, @committer, @host.suspect_gate, ->(lane, unit) { @feeder.push(lane, [unit]) })
        @breakers = Breakers.new(@session, method(:probe))
        @feeder = Feeder.new(@session, @assemblies, @ports, @host.method(:worker_limit), @suspicion)
        @slots = OffsetSlots.new(@session, @committer, @opening, codec: @host.codec,
          settle: ->(outcome) { @settler.call(outcome) }, inquire: ->(claim) { @host.inquire(claim, @session.mailbox) })
        @settler = Settler.new(@session, @assemblies, @ports, @hooks, @suspicion, @slots)
      end

      def widen_lane(lane, width)
        return if width == lane.division.width
        lane.division.width = width
        lane.slot.width = @host.width(lane.topic, width)
        @session.queue.push(lane.slot)
        @session.pool.grow(width)
      end

      def probe(lane, unit)
        @session.pool.grow(@session.queue.push(lane.slot, unit)) if @suspicion.pass?(lane, unit)
      end

      def assembly(topic)
        settings = @host.settings
        Processing::Assembly.new(topic, critical_errors: settings.critical_errors, concurrency: @host.concurrency(topic),
          window: {records: settings.window_records, bytes: settings.window_bytes}, clock: @host.clock,
          breaker: @host.breakers.of(topic))
          .tap { |assembly| @breakers.add(assembly.breaker) if assembly.breaker }
      end

      # A partition that was assigned, with everything it needs.
      # @return [Processing::Lane]
      def lane(topic, topic_name, partition, epoch, source)
        assembly = @assemblies[topic]
        @host.discovered(topic)
        @host.generations.assigned(topic, partition)
        lane = assembly.lane(topic_name, partition, epoch, source)
        lane.member_id = @session.driver.member_id
        lane.recording = @recorder&.follow(lane)
        @insights.assigned(lane)
        lock = Monitor.new
        pool = Consumer::Pool.new(bound: assembly.bound?) { Consumer::Context.new(lane, @link, lock) }
        lane.slot = Execution::RunQueue::Slot.new(topic.name, pool, @session.mailbox, width: @host.width(topic, assembly.width),
          ordered: !lane.rolling?)
        lane.prepare_slot = Execution::RunQueue::Slot.new(topic.name, pool, @session.mailbox) if lane.prepare
        lane
      end
    end
  end
end
