# frozen_string_literal: true

require "penstock/testing/memory/world"
require_relative "application"
require_relative "checker"
require_relative "clock"
require_relative "coverage"
require_relative "faults"
require_relative "instance"
require_relative "plan"
require_relative "room"
require_relative "script"

module Penstock
  module TestSupport
    module Sim
      # One simulated run of a plan: brokers, processes, users' code and faults on one timeline. Runs until the faults
      # have ended and everything is processed and committed, then stops all processes in order; ends early when an
      # invariant breaks.
      class World < Testing::Memory::World
        GROUP = "group"
        # Events after which a run counts as one that never becomes idle.
        STEPS = 40_000
        HEALING_MS = 120_000
        THROTTLE_MS = 400
        LONGEST_DELAY_MS = 2_500
        # By then every process has joined its group.
        SETTLED_MS = 2_500
        # How often a record may kill its process before it is quarantined.
        CRASHES = 2
        # Retry topics may have fewer partitions than their source.
        RETRY_PARTITIONS = 2
        # The possible fates of a process of a pool: it dies before its unit begins, in it, after it, in the middle of
        # its answer; it can't be reached; it answers late, or dies just before it answers.
        POOL_FATES = %i[early killed killed unreported unsent cut hung hung hung late late lost lost].freeze
        # Headers with times of records' own, of which some are no times; the limit of delays.
        TTL = "ttl"
        DELAY = "delay"
        MOST_DELAY_MS = 300
        OWN_TIMES = [{}, {TTL => "300"}, {TTL => "-5", DELAY => "\xFF"}, {TTL => "2000", DELAY => "50"}, {DELAY => "9999999"},
          {TTL => "0", DELAY => "0"}, {TTL => "9" * 20, DELAY => ""}].each(&:freeze).freeze
        private_constant :STEPS, :HEALING_MS, :RETRY_PARTITIONS, :POOL_FATES

        attr_reader :plan, :group, :checker, :script, :coverage, :instances, :digest, :faults
        # @return [Boolean] whether a dependency of the users' code is unavailable
        attr_writer :outage
        # @return [Hash{Execution::Processes::ChildLane => Processing::Lane}] the parent's lane of each lane in a pool's
        #   process
        attr_reader :origins

        # @param plan [Plan]
        # @param traced [Boolean] whether to keep every step for reading
        def initialize(plan, traced: false)
          super(Random.new(plan.seed ^ 0x5eed))
          @plan = plan
          @clock = Clock.new(@timeline)
          @coverage = Coverage.new
          @lines = traced ? [] : nil
          @digest = 0
          @healed = false
          make_cluster
          @checker = Checker.new(self)
          @cluster.observer = @cluster.transactions.observer = @checker
          @script = Script.new(self)
          @application = Application.for(plan)
          @instances = []
          @origins = {}.compare_by_identity
          @pids = 1
          @faults = Faults.new(self)
          @coverage.hit("manual mode") if plan.manual
          @coverage.hit("mode #{plan.mode}")
        end

        # @return [Checker::Violation, nil]
        def run
          World.current = self
          begin_with
          turn until over? || @checker.violation
          @checker.over
          @checker.violation
        ensure
          World.current = nil
        end

        # @return [Array<String>, nil]
        attr_reader :lines

        def healed? = @healed

        def outage? = @outage || false

        # @return [Symbol, nil] the fate of the next dead letter; nil: no fault
        def letter_fate(fates)
          roll = @random.rand(100)
          fates[roll % fates.size] if roll < @plan.letter_trouble && !@healed
        end

        # @return [Symbol, nil] the fate of a request to the coordinator of transactions; nil: no fault
        def transaction_fate(fates)
          return if !@plan.transactions || @healed
          fates[@random.rand(fates.size)] if @random.rand(100) < @plan.transaction_trouble
        end

        # @return [Symbol, nil] the fate of a pool's process with its next unit; nil: no fault
        def pool_fate
          return if @healed || @random.rand(100) >= @plan.pool_trouble
          POOL_FATES[@random.rand(POOL_FATES.size)]
        end

        # @return [Integer] pid of a new process of a pool
        def next_pid = @pids += 1

        # @return [Processing::Lane] the consumer's lane
        def lane_of(consumer)
          lane = consumer.instance_variable_get(:@penstock_context).lane
          @origins.fetch(lane, lane)
        end

        # @return [Integer] ms that an immediate action takes
        def quickly
          roll = @random.rand(16)
          (roll < 10) ? 0 : roll - 9
        end

        def sleeper(instance, connection = nil, &) = Sleeper.new(instance, connection, &)

        # The events of a run as numbers: two runs of a plan must give the same.
        def trace(kind, *numbers)
          digest = @digest
          numbers.each { |number| digest = ((digest * 1_000_003) ^ number ^ @timeline.now) & 0xff_ffff_ffff }
          @digest = digest
          @lines << "#{@timeline.now} #{kind} #{numbers.join(" ")}" if @lines
        end

        def places = @places ||= @cluster.partitions(@cluster.topics.keys)

        # A failed record arrives at the topic where it is tried again, in the partition that its producer's partitioner
        # chooses.
        # @param message [Hash] as the producer was given it
        # @param truth [Truth] of the record that failed
        def moved_on(message, truth)
          logs = @cluster.topics.fetch(message[:topic])
          place = [message[:topic], Zlib.crc32(message[:partition_key]) % logs.size].freeze
          headers = {**message[:headers], Truth::NUMBER => @checker.truths.size.to_s}
          record = @cluster.produce(*place, message[:payload], **message.slice(:key, :timestamp), headers: headers)
          @checker.produced(place, record, origin: truth)
        end

        # A delayed message arrives at its target, or in the next delay topic.
        # @param message [Hash] as the producer was given it
        # @param truth [Truth] of the record that it was in
        def hopped(message, truth)
          return @checker.hop_arrived(truth, message) if message[:topic] == Hopping::TARGET
          @checker.hop_moved(truth, message)
          headers = {**message[:headers], Truth::NUMBER => @checker.truths.size.to_s}
          place = [message[:topic], message[:partition]].freeze
          record = @cluster.produce(*place, message[:payload], timestamp: @clock.true_ms, headers: headers)
          @checker.produced(place, record, origin: truth)
        end

        # --- processes

        # @param slot [Integer]
        def start(slot)
          @lives = (@lives || 0) + 1
          @instances << Instance.new(self, slot, @lives, @application)
        end

        # User code has killed its process, somewhere in the middle: the service manager starts another.
        def killed(work)
          @coverage.hit("killed by a record")
          work.member&.die(11)
          instance = work.instance
          @faults.kill(instance)
          @timeline.after(200) { start(instance.slot) unless @stopped || instance(instance.slot) }
          Fiber.yield # never resumes
        end

        # @return [Instance, nil] the living one of this slot
        def instance(slot) = @instances.reverse_each.find { |instance| instance.slot == slot && instance.running? }

        # @return [Connection, nil] nil for a client that it has replaced
        def connection_of(driver) = (driver.waiter if driver.waiter.driver.equal?(driver))

        def running_instances = @instances.select(&:running?)

        # Whether units wait after this one.
        def waits?(work) = work.instance.host.queue.snapshot[:ready].positive?

        private

        def make_cluster
          @cluster = Testing::Memory::Kafka::Cluster.new(@timeline, @random)
          per_topic = (@plan.partitions + @plan.topics - 1) / @plan.topics
          topics = Application.topics(@plan)
          topics.each { |name| @cluster.create_topic(name, per_topic) }
          @sources = @cluster.partitions(topics)
          topics.flat_map { |name| Application.retry_topics(@plan, name) }.each do |name|
            @cluster.create_topic(name, [per_topic, RETRY_PARTITIONS].min)
          end
          @group = @cluster.create_group(GROUP, @plan.style, session_ms: 1_500, rebalance_ms: 4_000)
        end

        def begin_with
          @plan.members.times { |slot| @timeline.at(@random.rand(300)) { start(slot) } }
          @plan.records.times { @timeline.at(moment) { produce } }
          @plan.faults.each { |fault| @timeline.at(fault.at) { @faults.inject(fault) } }
          @timeline.at(@plan.horizon_ms) { heal }
        end

        # In calm plans the group is complete before its records are written.
        def moment
          first = @plan.calm ? SETTLED_MS : 0
          time = @random.rand(@plan.horizon_ms - first)
          first + time - (time % @plan.burst_ms)
        end

        def produce
          return schedule if @plan.hops
          place = @sources[@random.rand(@sources.size)]
          payload = @checker.truths.size.to_s.freeze
          uid = @checker.truths.size
          record = @cluster.produce(*place, payload, key: key, timestamp: @clock.true_ms, headers: headers(uid))
          @checker.produced(place, record, filtered: @script.drops?(uid))
          gap(place) if @random.rand(8).zero?
        end

        # A message that is to arrive later.
        def schedule
          uid = @checker.truths.size
          now = @clock.true_ms
          wait = @random.rand(10..LONGEST_DELAY_MS)
          message = {topic: Hopping::TARGET, payload: uid.to_s, key: key, headers: headers(uid)}.compact
          message = Delays::DelayedMessage.new_for(message, now + wait).waiting(wait, Application.delay_tiers(@plan), now)
          place = [message[:topic], 0].freeze
          @checker.produced(place, @cluster.produce(*place, uid.to_s, timestamp: now, headers: message[:headers]))
        end

        def headers(uid)
          trace = ({"trace" => "t#{uid}"} if uid % 4 == 0)
          @plan.own_times ? {**trace.to_h, **OWN_TIMES[uid % OWN_TIMES.size]} : trace
        end

        # One in twenty has none.
        def key = @random.rand(20).zero? ? nil : "k#{@random.rand(@plan.keys)}"

        # The marker of a transaction.
        def gap(place)
          @coverage.hit("gap at the end")
          @cluster.log(*place).gap
          @cluster.changed(*place)
        end

        def turn
          return if @timeline.steps < STEPS && @timeline.step
          @checker.fail("I9", "not idle after #{@timeline.steps} steps: #{@checker.unfinished}")
        end

        # Ends all faults; processes that are down are started again.
        def heal
          @faults.heal
          @healed = true
          @heal_ends = @timeline.now + HEALING_MS
          look
        end

        def look
          @plan.members.times { |slot| start(slot) unless instance(slot) } # some were still stopping when the world healed
          return stop_all if @checker.unfinished.nil?
          return unhealed if @timeline.now > @heal_ends && !wait_for_hold
          @timeline.after(250) { look }
        end

        def unhealed = @checker.fail("I9", "#{HEALING_MS} ms after the faults: #{@checker.unfinished}; #{state}")

        # A breaker's limit may be longer than the patience, which then begins with the end of the hold.
        # @return [Boolean] whether nothing else is waited for
        def wait_for_hold
          ends = @checker.held_until or return false
          @coverage.hit("a bad record held for longer than the patience")
          @heal_ends = ends + HEALING_MS
        end

        def state
          running_instances.map { |each|
            [each.name, each.host.queue.snapshot, each.units.size, *each.connections.map { |one| one.loop.snapshot }]
          }.inspect
        end

        def stop_all
          @stopped = true
          running_instances.each { |instance| instance.stop(@plan.shutdown_ms) }
        end

        def over? = @stopped && running_instances.empty?
      end
    end
  end
end
