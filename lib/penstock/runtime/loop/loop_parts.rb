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
require_relative "group/membership"
require_relative "group/offset_slots"
require_relative "group/offset_lookup"
require_relative "monitoring/stall_monitor"
require_relative "work/effect_context"
require_relative "group/rebalances"
require_relative "connection_state"
require_relative "lane_assignment"
require_relative "work/settler"
require_relative "group/stopping"
require_relative "work/crash_guard"
require_relative "work/ticker"
require_relative "monitoring/time_limits"
require_relative "monitoring/no_partitions_warning"
require_relative "monitoring/foreign_topics_check"

module Penstock
  module Runtime
    # Builds and connects the parts of a poll loop for one open connection. Lives on the loop's thread.
    class LoopParts
      # Outcomes that don't wake the loop are still read soon: a commit's interval begins with them, and keys wait for them.
      CALM_MS = 200
      SUPPLIED_MS = 20
      private_constant :CALM_MS, :SUPPLIED_MS

      attr_reader :dead_letters, :breakers
      attr_reader :connection, :committer, :offset_lookup, :hooks, :rebalances, :feeder, :settler, :stopping, :events,
        :no_partitions_warning, :stall_monitor, :membership
      attr_reader :ticker, :time_limits, :insights, :slots

      # @return [LagCompensation]
      attr_reader :lag

      # @return [Processing::Recording::Recorder, nil] of lanes that are assigned from now on
      attr_writer :recorder

      # @param group [Routing::SubscriptionGroup]
      # @param driver [Native::Consumer]
      # @param process [ProcessContext]
      # @param mailbox [Mailbox]
      # @param orphaned_units [Hash] lanes of earlier connections whose units still run
      # @param hooks [Hooks]
      def initialize(group, driver, process, mailbox, orphaned_units, hooks)
        @process = process
        @hooks = hooks
        @connection = ConnectionState.new(group: group, driver: driver, process: process, mailbox: mailbox,
          orphaned_units: orphaned_units)
        @topic_pipelines = Hash.new { |known, topic| known[topic] = topic_pipeline(topic) }.compare_by_identity
        @insights = Insights.new(@connection)
        @loop_client = LoopClient.new(driver: driver, mailbox: mailbox, process: process, insights: @insights)
        groups
        work
        @events = DriverEvents.new(self)
        watch_group(@process.group_query(group))
        @stall_monitor = StallMonitor.new(@connection, @process.max_poll_interval_ms(@connection.group),
          @process.turn_intervals(@connection.group).last)
        @ticker = Ticker.new(@connection)
        @lag = LagCompensation.new(driver, process, process.settings.lag_compensation,
          read_committed: process.read_committed?(group))
        @time_limits = TimeLimits.new(@connection, @process.method(:stop_because))
        @timers = [@connection, @dead_letters, @breakers, @offset_lookup, @rebalances, @stopping, @committer,
          @membership, @no_partitions_warning, @foreign_topics_check, @stall_monitor, @time_limits].freeze
        @due = [*@timers, @ticker, @slots].freeze # these two run in every turn
      end

      # Runs what is due. The order matters: holds end and letters are acknowledged before a stop or a commit looks at the lanes.
      def run_timers
        @connection.active.add_all if rebalancing_or_stopping?
        @timers.each(&:run)
        @connection.active.add_all if rebalancing_or_stopping?
      end

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
      def rebalancing_or_stopping? = @rebalances.pending? || !@stopping.running?

      # @return [Boolean] whether timers have to run now, before the next of them is due
      def timers_pending? = rebalancing_or_stopping? || @dead_letters.letters_done?

      # @return [Numeric, nil] how long outcomes of successful units may wait to be read, in ms; nil: each of them wakes the loop
      def collect_ms
        return working? ? CALM_MS : Float::INFINITY if nothing_waiting?
        SUPPLIED_MS if workers_supplied?
      end

      # A probe's success releases the lanes of all connections.
      # @return [Boolean] whether nothing waits for a unit to end, and nothing could be handed out when one does
      def nothing_waiting?
        return false if rebalancing_or_stopping? || @committer.awaited?
        return false if @connection.orphaned_units.any? || @feeder.ends_pending?
        @connection.active.to_a.none? do |lane|
          lane.takes.ready || !lane.division.empty? || !lane.intake.empty? || lane.probing.out? || lane.suspects&.announced?
        end
      end

      # The next unit of a key, room in the window and others that wait for the end of a unit wait a little longer if this is so.
      # @return [Boolean] whether workers have enough units to continue without the loop: one of them wakes it when few are left
      def workers_supplied?
        return false if !@parallel || rebalancing_or_stopping? || @committer.awaited?
        return false if @connection.orphaned_units.any? || @feeder.ends_pending?
        lanes = @connection.active.to_a.select { |lane| outcomes_matter?(lane) }
        lanes.any? && lanes.all? { |lane| may_collect?(lane) } &&
          lanes.all? { |lane| lane.assignment.slot.watch_supply(lane.division.pace.low_mark) }
      end

      # @param id [Integer] of a driver's lane that has records or an event
      def ready(id)
        lane = @connection.by_source(id) or return
        lane.takes.ready = true
        @connection.active.add(lane)
      end

      # @param message [CommitWait, Mailbox::Request, Consumer::Claim, Consumer::Claim::TransactionEnd] from another thread
      def handle(message)
        case message
        when CommitWait then @committer.wait(message)
        when Mailbox::Request then request(message)
        when Consumer::Claim then @slots.requested(message)
        when Consumer::Claim::TransactionEnd then @slots.ended(message)
        end
      end

      # User code requests something outside of a unit.
      # @param request [Mailbox::Request]
      def request(request)
        lane = request.lane
        return unless @connection.current?(lane) && lane.owned?
        return @committer.request_commit([lane]) if request.flow == :commit
        return @ticker.wished(lane) if request.flow == :tick
        lane.recording&.requested(request.flow)
        @connection.call_back(lane)
        effects = @topic_pipelines.fetch(lane.topic).request(lane, request.flow, @connection.now)
        lane.recording&.effects(effects)
        effects.each { |effect| effect.perform(lane, @ports) }
      end

      # The number of workers has changed: so may the number of units of a partition that run at once.
      def update_widths
        @topic_pipelines.each_value { |topic_pipeline| topic_pipeline.concurrency = @process.concurrency(topic_pipeline.topic) }
        @connection.all.each { |lane| set_width(lane, @topic_pipelines.fetch(lane.topic).width) if lane.by_key? }
      end

      # Called when another process has taken this one's place in the group. Reconnecting would only expel that process, which
      # would then expel this one, and so on.
      # @param error [FencedError]
      # @raise [FencedError] the error, if the place may become free, see {HeldName}
      def fenced(error)
        raise error if error.code == :unreleased_instance_id
        @rebalances.fenced
        @process.stop_because(error)
      end

      # The coordinator refuses this group's protocol, and would refuse it again: the process stops.
      # @param error [KafkaError] fatal
      # @raise [KafkaError] the error, if the group has worked: its coordinator may have moved to an older broker for a while
      def refused(error)
        raise error if @connection.assigned?
        @rebalances.fenced
        @process.stop_because_refused(@connection.group)
      end

      # The connection is about to be closed: its lanes, letters and commits are dropped.
      def abandon
        @rebalances.leaving(lost: !@stopping.done?)
        @connection.all.each do |lane|
          @connection.call_back(lane)
          lane.end_ownership!
          @hooks.run_when_idle(:revoked, lane) unless @stopping.done?
          @connection.remove(lane)
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

      # @return [Boolean] whether units are handed out
      def working? = @connection.active.to_a.any? { |lane| !lane.idle? }

      # A lane without units that is held, or has nothing to hand out, waits for no unit to end.
      def outcomes_matter?(lane) = !lane.idle? || (lane.open? && (lane.takes.ready || lane.division.waiting?))

      def may_collect?(lane)
        lane.by_key? && !lane.division.pace.low_mark.nil? && lane.intake.empty? && !lane.probing.out? &&
          !lane.suspects&.announced? && !lane.breaker&.awaits_success?
      end

      def groups
        @committer = Committer.new(@connection, codec: @process.codec,
          interval_ms: @process.commit_interval_ms(@connection.group), expelled: -> { @rebalances.expelled },
          keep_alive_ms: (Assignment::Commits::KEEP_ALIVE_MS if @connection.group.direct?))
        @offset_lookup = OffsetLookup.new(@connection, codec: @process.codec, committer: @committer,
          source_begins: @process.initial_position(@connection.group), unstable: @process.method(:end_old_transactions))
        @rebalances = Rebalances.new(@connection, committer: @committer, offset_lookup: @offset_lookup, lanes: method(:lane),
          hooks: @hooks)
        @stopping = Stopping.new(@connection, committer: @committer, hooks: @hooks, rebalances: @rebalances)
      end

      def work
        @ports = EffectContext.new(@connection, @committer, @offset_lookup, @process.method(:stop_because))
        @ports.dead_letters = @dead_letters = DeadLetters.new(@connection, @committer, @ports, @loop_client,
          watch: LetterWatch.new(@process.threads, @connection.mailbox))
        @crash_guard = CrashGuard.new(@connection, @committer, @process.crash_gate, ->(lane, unit) { @feeder.push(lane, [unit]) })
        @breakers = Breakers.new(@connection, method(:probe))
        @feeder = Feeder.new(@connection, @topic_pipelines, @ports, @process.method(:worker_limit), @crash_guard)
        @slots = OffsetSlots.new(@connection, @committer, @offset_lookup, codec: @process.codec,
          settle: ->(outcome) { @settler.call(outcome) },
          resolve_transaction: ->(claim) { @process.resolve_transaction(claim, @connection.mailbox) })
        @settler = Settler.new(@connection, @topic_pipelines, @ports, @hooks, @crash_guard, @slots)
      end

      def watch_group(query)
        group = @connection.group
        @membership = Membership.new(@connection, @events, @rebalances)
        @rebalances.on_loss = @membership.method(:watch)
        @no_partitions_warning = NoPartitionsWarning.new(@connection, @events, query,
          {session_ms: @process.session_timeout_ms(group), rebalance_ms: @process.max_poll_interval_ms(group)},
          token_listener: !!@process.settings.oauth.token_provider_listener)
        @foreign_topics_check = ForeignTopicsCheck.new(@connection, query)
      end

      def set_width(lane, width)
        return if width == lane.division.width
        lane.division.width = width
        slot = lane.assignment.slot
        slot.width = @process.width(lane.topic, width)
        @connection.queue.push(slot)
        @connection.pool.grow(width)
      end

      # An expired record isn't tried: it is complete, or its unit only builds its letter. The next record is probed then.
      # @return [Boolean] whether the unit is on its way; not if its record was dropped
      def probe(lane, unit)
        return false unless @feeder.recheck(lane, unit)
        lane.recording&.probed
        lane.recording&.unit(unit)
        if @crash_guard.admit(lane, unit)
          @feeder.handed_out(lane, unit)
          @connection.pool.grow(@connection.queue.push(lane.assignment.slot, unit))
        end
        true
      end

      def topic_pipeline(topic)
        settings = @process.settings
        Processing::TopicPipeline.new(topic, critical_errors: settings.critical_errors, concurrency: @process.concurrency(topic),
          window: {records: settings.window_records, bytes: settings.window_bytes}, clock: @process.clock,
          cautious_clock: @process.cautious_clock, breaker: @process.breakers.of(topic))
          .tap { |topic_pipeline| @breakers.add(topic_pipeline.breaker) if topic_pipeline.breaker }
      end

      # Builds the lane of an assigned partition, with everything it needs.
      # @return [Processing::Lane]
      def lane(topic, topic_name, partition, epoch, source)
        topic_pipeline = @topic_pipelines[topic]
        @process.discovered(topic)
        @process.generations.assigned(topic, partition)
        lane = topic_pipeline.lane(topic_name, partition, epoch, source)
        lane.recording = @recorder&.follow(lane)
        @insights.assigned(lane)
        lane.assignment = assignment(lane, source, topic_pipeline)
        @parallel ||= lane.by_key?
        lane
      end

      def assignment(lane, source, topic_pipeline)
        lock = Monitor.new
        pool = Consumer::Pool.new(bound: topic_pipeline.bound?) { Consumer::Context.new(lane, @loop_client, lock) }
        slot = slot(lane, pool, width: @process.width(lane.topic, topic_pipeline.width), ordered: !lane.by_key?)
        LaneAssignment.new(source, slot, prepare_slot: (slot(lane, pool) if lane.prepare),
          member_id: member_id(lane.epoch))
      end

      # Asked once per assignment: librdkafka's main thread has to answer.
      def member_id(epoch)
        @member = [epoch, @connection.driver.member_id] unless @member && @member[0] == epoch
        @member[1]
      end

      def slot(lane, pool, **options) = Execution::RunQueue::Slot.new(lane.topic.name, pool, @connection.mailbox, **options)
    end
  end
end
