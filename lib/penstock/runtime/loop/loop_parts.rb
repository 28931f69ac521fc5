# frozen_string_literal: true

require_relative "../../consumer/context"
require_relative "../../consumer/pool"
require_relative "../../execution/run_queue"
require_relative "../../processing/topic_pipeline"
require_relative "work/breakers"
require_relative "group/committer"
require_relative "work/dead_letters"
require_relative "driver_events"
require_relative "work/feeder"
require_relative "work/hooks"
require_relative "monitoring/insights"
require_relative "monitoring/lag_compensation"
require_relative "work/letter_watch"
require_relative "../loop_client"
require_relative "group/offset_slots"
require_relative "group/offset_lookup"
require_relative "monitoring/stall_monitor"
require_relative "work/effect_context"
require_relative "group/rebalances"
require_relative "connection_state"
require_relative "work/settler"
require_relative "group/stopping"
require_relative "work/crash_guard"
require_relative "work/ticker"
require_relative "monitoring/time_limits"
require_relative "monitoring/no_partitions_warning"

module Penstock
  module Runtime
    # Builds and connects the parts of a poll loop for one open connection. Lives on the loop's thread.
    class LoopParts
      attr_reader :dead_letters, :breakers
      attr_reader :session, :committer, :offset_lookup, :hooks, :rebalances, :feeder, :settler, :stopping, :events,
        :no_partitions_warning, :stall_monitor
      attr_reader :ticker, :time_limits, :insights, :slots

      # @return [LagCompensation]
      attr_reader :lag

      # @return [Processing::Recording::Recorder, nil] of lanes that are assigned from now on
      attr_writer :recorder

      # @param group [Routing::SubscriptionGroup]
      # @param driver [Native::Consumer]
      # @param host [ProcessContext]
      # @param mailbox [Mailbox]
      # @param orphaned_units [Hash] lanes of earlier connections whose units still run
      # @param hooks [Hooks]
      def initialize(group, driver, host, mailbox, orphaned_units, hooks)
        @host = host
        @hooks = hooks
        @session = ConnectionState.new(group: group, driver: driver, host: host, mailbox: mailbox, orphaned_units: orphaned_units)
        @topic_pipelines = Hash.new { |known, topic| known[topic] = topic_pipeline(topic) }.compare_by_identity
        @insights = Insights.new(@session)
        @link = LoopClient.new(driver: driver, mailbox: mailbox, host: host, insights: @insights)
        groups
        work
        @events = DriverEvents.new(self)
        @no_partitions_warning = NoPartitionsWarning.new(@session, @events)
        @stall_monitor = StallMonitor.new(@session, @host.max_poll_interval_ms(@session.group))
        @ticker = Ticker.new(@session)
        @lag = LagCompensation.new(driver, host, host.settings.lag_compensation, read_committed: host.read_committed?(group))
        @time_limits = TimeLimits.new(@session, @host.method(:stop_because))
        @timers = [@session, @dead_letters, @breakers, @offset_lookup, @rebalances, @stopping, @committer, @no_partitions_warning,
          @stall_monitor, @time_limits].freeze
        @due = [*@timers, @ticker, @slots].freeze # these two run in every turn
      end

      # Runs what is due. The order matters: holds end and letters are acknowledged before a stop or a commit looks at the lanes.
      def run_timers = @timers.each(&:run)

      # Called on almost every turn, so it allocates nothing.
      # @return [Integer, nil] monotonic ms of the next timer
      def next_due
        soonest = nil
        @due.each do |part|
          due = part.next_due
          soonest = due if due && (soonest.nil? || due < soonest)
        end
        soonest
      end

      # @return [Boolean] whether a rebalance or a stop is in progress, which any event may advance
      def stirring? = @rebalances.pending? || !@stopping.running?

      # @return [Boolean] whether timers have to run before the next of them is due
      def stirred? = stirring? || @dead_letters.news?

      # @return [Boolean] whether nothing waits for a unit to end, and nothing could be handed out when one does
      def calm?
        return false if stirring? || @committer.awaited? || @session.orphaned_units.any? || @feeder.ends_untold?
        @session.lanes.none? do |_key, lane|
          lane.ready || !lane.division.empty? || !lane.intake.empty? || lane.suspects&.announced?
        end
      end

      # @return [Boolean] whether units are handed out
      def working? = @session.lanes.any? { |_key, lane| !lane.idle? }

      # @param id [Integer] of a driver's lane that has records or an event
      def ready(id)
        lane = @session.by_source(id)
        lane.ready = true if lane
      end

      # User code requests something outside of a unit.
      # @param request [Mailbox::Request]
      def request(request)
        lane = request.lane
        return unless @session.current?(lane) && lane.owned?
        return @committer.want([lane]) if request.flow == :commit
        lane.recording&.asked(request.flow)
        @session.call_back(lane)
        effects = @topic_pipelines.fetch(lane.topic).ask(lane, request.flow, @session.now)
        lane.recording&.effects(effects)
        effects.each { |effect| effect.perform(lane, @ports) }
      end

      # The number of workers has changed: so may the number of units of a partition that run at once.
      def widen
        @topic_pipelines.each_value { |topic_pipeline| topic_pipeline.concurrency = @host.concurrency(topic_pipeline.topic) }
        @session.all.each { |lane| widen_lane(lane, @topic_pipelines.fetch(lane.topic).width) if lane.by_key? }
      end

      # Another process has taken this one's place in the group: reconnecting would only expel that one, and so on in turns.
      def fenced(error)
        @rebalances.fenced
        @host.stop_because(error)
      end

      # The connection is about to be closed: its lanes, letters and commits are dropped.
      def abandon
        @rebalances.leaving(lost: !@stopping.done?)
        @session.all.each do |lane|
          @session.call_back(lane)
          lane.disown!
          @hooks.late(:revoked, lane) unless @stopping.done?
          @session.remove(lane)
        end
      ensure
        @dead_letters.close
        @breakers.close
        @committer.close
        @slots.close
      end

      # The connection is closed.
      def closed = @rebalances.left

      private

      def groups
        @committer = Committer.new(@session, codec: @host.codec, interval_ms: @host.commit_interval_ms(@session.group),
          expelled: -> { @rebalances.expelled })
        @offset_lookup = OffsetLookup.new(@session, codec: @host.codec, committer: @committer,
          source_begins: @host.begins(@session.group), unstable: @host.method(:end_old_transactions))
        @rebalances = Rebalances.new(@session, committer: @committer, offset_lookup: @offset_lookup, lanes: method(:lane),
          hooks: @hooks)
        @stopping = Stopping.new(@session, committer: @committer, hooks: @hooks, rebalances: @rebalances)
      end

      def work
        @ports = EffectContext.new(@session, @committer, @host.method(:stop_because))
        @ports.dead_letters = @dead_letters = DeadLetters.new(@session, @committer, @ports, @link,
          watch: LetterWatch.new(@host.threads, @session.mailbox))
        @crash_guard = CrashGuard.new(@session, @committer, @host.crash_gate, ->(lane, unit) { @feeder.push(lane, [unit]) })
        @breakers = Breakers.new(@session, method(:probe))
        @feeder = Feeder.new(@session, @topic_pipelines, @ports, @host.method(:worker_limit), @crash_guard)
        @slots = OffsetSlots.new(@session, @committer, @offset_lookup, codec: @host.codec,
          settle: ->(outcome) { @settler.call(outcome) }, inquire: ->(claim) { @host.inquire(claim, @session.mailbox) })
        @settler = Settler.new(@session, @topic_pipelines, @ports, @hooks, @crash_guard, @slots)
      end

      def widen_lane(lane, width)
        return if width == lane.division.width
        lane.division.width = width
        lane.slot.width = @host.width(lane.topic, width)
        @session.queue.push(lane.slot)
        @session.pool.grow(width)
      end

      def probe(lane, unit)
        @session.pool.grow(@session.queue.push(lane.slot, unit)) if @crash_guard.admit(lane, unit)
      end

      def topic_pipeline(topic)
        settings = @host.settings
        Processing::TopicPipeline.new(topic, critical_errors: settings.critical_errors, concurrency: @host.concurrency(topic),
          window: {records: settings.window_records, bytes: settings.window_bytes}, clock: @host.clock,
          breaker: @host.breakers.of(topic))
          .tap { |topic_pipeline| @breakers.add(topic_pipeline.breaker) if topic_pipeline.breaker }
      end

      # Builds the lane of an assigned partition, with everything it needs.
      # @return [Processing::Lane]
      def lane(topic, topic_name, partition, epoch, source)
        topic_pipeline = @topic_pipelines[topic]
        @host.discovered(topic)
        @host.generations.assigned(topic, partition)
        lane = topic_pipeline.lane(topic_name, partition, epoch, source)
        lane.member_id = @session.driver.member_id
        lane.recording = @recorder&.follow(lane)
        @insights.assigned(lane)
        lock = Monitor.new
        pool = Consumer::Pool.new(bound: topic_pipeline.bound?) { Consumer::Context.new(lane, @link, lock) }
        lane.slot = Execution::RunQueue::Slot.new(topic.name, pool, @session.mailbox,
          width: @host.width(topic, topic_pipeline.width), ordered: !lane.by_key?)
        lane.prepare_slot = Execution::RunQueue::Slot.new(topic.name, pool, @session.mailbox) if lane.prepare
        lane
      end
    end
  end
end
