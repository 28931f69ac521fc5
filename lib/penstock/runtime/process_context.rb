# frozen_string_literal: true

require "logger"
require_relative "../assignment/generations"
require_relative "../cautious_clock"
require_relative "../config/kafka_map"
require_relative "../errors"
require_relative "../execution/failure_handler"
require_relative "../execution/run_queue"
require_relative "../execution/threads/pool"
require_relative "../execution/unit_runner"
require_relative "../instrumentation/statistics"
require_relative "../processing/recording/recorder"
require_relative "breaker_registry"
require_relative "flight_dump"
require_relative "group_query"
require_relative "transaction_resolver"
require_relative "reporter"
require_relative "crash_gate"
require_relative "threads"

module Penstock
  module Runtime
    # Holds what all poll loops of one application share: workers, run queue, reporter, clock, settings. Created when the
    # application starts to run; ends with {#close_workers} and {#close_reporter}. Read by any thread.
    class ProcessContext
      # librdkafka's defaults, for settings that neither the user nor librdkafka specifies.
      COMMIT_INTERVAL_MS = 5_000
      MAX_POLL_INTERVAL_MS = 300_000
      # Longest wait of a poll loop, how often it looks at all lanes, and how often it checks what takes long.
      LONGEST_WAIT_MS = 1_000
      ALL_LANES_MS = 10_000
      STALL_CHECK_MS = 1_000
      # Most units that a process of the pool has at once, running or queued.
      QUEUED_PER_PROCESS = 64
      # syslog's levels, as librdkafka uses them.
      SEVERITIES = [::Logger::FATAL, ::Logger::FATAL, ::Logger::FATAL, ::Logger::ERROR, ::Logger::WARN, ::Logger::INFO,
        ::Logger::INFO, ::Logger::DEBUG].freeze
      private_constant :QUEUED_PER_PROCESS, :COMMIT_INTERVAL_MS, :MAX_POLL_INTERVAL_MS, :LONGEST_WAIT_MS, :ALL_LANES_MS,
        :STALL_CHECK_MS, :SEVERITIES

      attr_reader :settings, :clock, :monitor, :threads, :reporter, :queue, :pool, :codec, :crash_gate

      # @return [Assignment::Generations]
      attr_reader :generations
      # @return [BreakerRegistry]
      attr_reader :breakers
      # @return [CautiousClock] read by each poll loop
      attr_reader :cautious_clock

      # @param settings [Config::Settings]
      # @param monitor [Instrumentation::Monitor]
      # @param logger [Logger]
      # @param clock [Clock]
      # @param codec [#encode, #decode] offset metadata
      # @param middleware [Execution::MiddlewareStack] around every call of user code
      # @param producer [#call] returns the application's producer
      # @param producer_replacement [#call] returns the replacement of a producer that was closed, or nil
      # @param topics [Array<Routing::Topic>] the consumed topics
      # @param properties [#call] returns librdkafka's settings of a group
      # @param stop [#call] stops the process because of an error
      # @param child_setup [Hash{Symbol => #call}, nil] what forked processes inherit from their application
      def initialize(settings:, monitor:, logger:, clock:, codec:, middleware:, producer:, topics:, properties:, stop:,
        child_setup: nil, producer_replacement: ->(_closed) {})
        @settings = settings
        @monitor = monitor
        @logger = logger
        @clock = clock
        @cautious_clock = CautiousClock.start(clock)
        @codec = codec
        @producer = producer
        @producer_replacement = producer_replacement
        @properties = properties
        @stop = stop
        @stopping = false
        @crash_gate = CrashGate.new
        @breakers = BreakerRegistry.new(clock)
        @generations = Assignment::Generations.new
        @workers = settings.concurrency
        @topics = topics
        @discovered = []
        @discovering = Mutex.new
        @limits = limits(topics)
        @threads = Threads.new(method(:thread_died))
        @reporter = Reporter.new(monitor, @threads)
        @ranks = ranked(topics)
        @queue = new_queue
        @pool = Execution::Threads::Pool.new(queue: @queue, runner: runner(middleware), meters: meters,
          threads: @threads, concurrency: @workers, priority: settings.worker_thread_priority)
        build_executors(topics, middleware, child_setup)
      end

      # Workers a topic may hold at once: where several topics are consumed, one can't take all of them.
      # @param topic_name [String]
      # @return [Integer]
      def worker_limit(topic_name) = @limits.fetch(topic_name, @default_limit)

      # @return [Execution::RunQueue] for an executor
      def new_queue = Execution::RunQueue.new(method(:worker_limit), (method(:rank) if @ranks.any?))

      # @param topic [Routing::Topic]
      # @return [Integer] how many units of the topic can run at once
      def concurrency(topic) = placement(topic)&.most || @workers

      # @return [Integer] how many worker threads there may be
      def worker_count = @workers

      # Changes the number of worker threads at run time. Any thread.
      # @param workers [Integer]
      # @return [Integer] the previous number
      def scale(workers)
        before = @workers
        @discovering.synchronize do
          @workers = workers
          @limits = limits(@topics).merge(@discovered.to_h { |topic| [topic.name, limit(topic)] })
        end
        @pool.scale(workers)
        before
      end

      # @param topic [Routing::Topic]
      # @param width [Integer] units of a partition that may run at once
      # @return [Integer] units of it that may be handed out: a process gets several small ones, which it queues
      def width(topic, width)
        place = placement(topic)
        many = topic.features[:parallel] && place&.processes? && width >= place.most # in order there is always one
        many ? width * QUEUED_PER_PROCESS : width
      end

      # A topic discovered by a pattern gets what is configured for the pattern. Called by any poll loop.
      # @param topic [Routing::Topic]
      def discovered(topic)
        return unless topic.discovered? && !@limits.key?(topic.name)
        @discovering.synchronize do
          @limits = @limits.merge(topic.name => limit(topic))
          @ranks = @ranks.merge(ranked([topic]))
          @discovered |= [topic]
        end
        @pool.add_topic(topic)
      end

      # @return [Boolean] whether the process is stopping
      def stopping? = @stopping

      # User code reads it as `stopping?`.
      def stopping! = @stopping = true

      # @param error [Exception]
      def stop_because(error) = @stop.call(error)

      # Asks the brokers for their version on a thread of its own, then stops the process.
      # @param group [Routing::SubscriptionGroup] whose protocol its coordinator refuses
      def stop_because_refused(group)
        require_relative "group_protocol"
        @threads.start("penstock protocol") { stop_because(GroupProtocol.refused(group, broker_requests(group))) }
      rescue ThreadError # no thread can be started now
        stop_because(GroupProtocol.refused(group, nil))
      end

      # @return [Processing::Recording::Recorder, nil] for one loop
      def recorder
        return unless @settings.flight_recorder
        Processing::Recording::Recorder.new(@clock, plain_keys: @settings.flight_recorder_keys)
      end

      # Dumps what the loops' lanes did last to a file; any thread.
      # @param reason [String]
      # @param loops [Array<PollLoop>]
      def dump_flight(reason, loops)
        dump = FlightDump.new(@settings.flight_recorder_path, @clock)
        lanes = loops.flat_map { |poll_loop| poll_loop.recording }
        path = dump.write(reason, lanes) or return
        @reporter.emit("flight_recorder.dumped", {path: path, reason: reason, lanes: lanes.size})
      rescue => error # the caller, a loop or a stop, must continue in any case
        @reporter.emit("error.occurred", {type: "flight_recorder.dump.error", error: error})
      end

      # @return [Producer]
      def producer = @producer.call

      # Never waits: the replacement is connected by a thread of its own.
      # @param closed [Producer]
      # @return [Producer, nil] its replacement; nil where it wasn't the application's producer
      def producer_replacement(closed)
        @producer_replacement.call(closed)&.tap do |one|
          @threads.start("penstock producer") { one.client } unless one.status.connected?
        end
      end

      # A pending transaction blocks an offset: it may be one that the previous run of this process left open.
      def end_old_transactions
        return if @ending || !transactional?
        @ending = true
        @threads.start("penstock transaction") { producer.prepare_transactions }
      end

      # Finds out how a transaction ended, on a thread of its own.
      # @param claim [Consumer::Claim]
      # @param mailbox [Mailbox] of the loop that gets the answer
      # @return [Boolean] false when no thread can be started now
      def resolve_transaction(claim, mailbox)
        report = ->(error) { @threads.report("penstock transaction", error) }
        @threads.start("penstock transaction") { TransactionResolver.new(claim, mailbox, report: report).run }
        true
      rescue ThreadError => error
        report.call(error)
        false
      end

      # @param group [Routing::SubscriptionGroup]
      # @return [Integer] ms
      def commit_interval_ms(group) = Integer(@properties.call(group).fetch("auto.commit.interval.ms", COMMIT_INTERVAL_MS))

      # @return [Integer] ms
      def max_poll_interval_ms(group) = Integer(@properties.call(group).fetch("max.poll.interval.ms", MAX_POLL_INTERVAL_MS))

      # How long a poll loop may wait at most (the consumer queue must be polled more often than a member may stay silent), how
      # often it looks at all of its lanes, as a safeguard, and how often it checks whether anything takes unusually long.
      # @param group [Routing::SubscriptionGroup]
      # @return [Array(Integer, Integer, Integer)] ms
      def turn_intervals(group) = [[LONGEST_WAIT_MS, max_poll_interval_ms(group) / 4].min, ALL_LANES_MS, STALL_CHECK_MS]

      # @param group [Routing::SubscriptionGroup]
      # @return [Integer, nil] ms; nil under KIP-848, where the broker decides
      def session_timeout_ms(group)
        return if group.consumer_protocol?
        Integer(@properties.call(group).fetch("session.timeout.ms", Config::KafkaMap::SESSION_TIMEOUT))
      end

      # @param group [Routing::SubscriptionGroup]
      # @return [GroupQuery] for its consumer group
      def group_query(group)
        GroupQuery.new(group.consumer_group_id, {**group.kafka, **@settings.admin.kafka}, @threads,
          token_provider: @settings.oauth.token_provider_listener || nil)
      end

      # @param group [Routing::SubscriptionGroup]
      # @return [Boolean] whether records of open transactions are hidden
      def read_committed?(group) = @properties.call(group).fetch("isolation.level", "read_committed") == "read_committed"

      # @param group [Routing::SubscriptionGroup]
      # @return [Symbol] where its connection begins without a committed offset: :earliest, :latest or :error
      def initial_position(group)
        name = @properties.call(group).fetch("auto.offset.reset", "latest")
        {"smallest" => :earliest, "beginning" => :earliest, "largest" => :latest, "end" => :latest}.fetch(name, name.to_sym)
      end

      # librdkafka's own log lines.
      # @param level [Integer] syslog's level
      def log(level, line)
        @logger.add(SEVERITIES.fetch(level, ::Logger::DEBUG), line)
      end

      # @return [Hash] statistics, parsed
      def decorate(group, json, &correct)
        (@statistics ||= {}).then { |known| known[group.id] ||= Instrumentation::Statistics.new }.call(json, &correct)
      end

      # Lets the workers finish.
      # @param timeout_s [Float]
      # @return [Boolean] whether all have finished
      def close_workers(timeout_s) = @pool.close(timeout_s)

      # Delivers the events that are still queued.
      # @param timeout_s [Float]
      def close_reporter(timeout_s) = @reporter.close(timeout_s)

      private

      # @return [Boolean] whether the application's producer is transactional
      def transactional? = @settings.kafka.key?(:"transactional.id") || @settings.kafka.key?("transactional.id")

      def broker_requests(group)
        BrokerRequests.fetch(@properties.call(group), token_provider: @settings.oauth.token_provider_listener || nil)
      rescue # a token provider may raise anything; the stop must come in any case
        nil
      end

      # Topics without a rank come between those with a higher and those with a lower one.
      def rank(topic_name, running) = @ranks[topic_name]&.rank(running) || [0, running]

      def ranked(topics)
        topics.to_h { |topic| [topic.name, topic.features[:workers]] }.select { |_name, workers| workers&.ranked? }
      end

      def limits(topics)
        threaded = topics.count { |topic| placement(topic).nil? }
        @default_limit = (threaded > 1) ? [@workers - 1, 1].max : @workers
        topics.to_h { |topic| [topic.name, limit(topic)] }
      end

      # For fibers the limit is how many may wait at once; processes need none, because each has its own limit of queued units.
      def limit(topic)
        place = placement(topic)
        return topic.workers_max || @default_limit unless place
        [topic.workers_max, place.fibers? ? place.most : Float::INFINITY].compact.min
      end

      def placement(topic)
        place = topic.features[:run_on]
        place unless place.nil? || place.threads?
      end

      # Units that don't run on threads have run queues of their own.
      def build_executors(topics, middleware, child_setup)
        return if topics.all? { |topic| placement(topic).nil? }
        require_relative "../execution/placement" # only when it is needed: it loads sockets
        @queue = @pool = Execution::Placement.new(self, topics, method(:runner), middleware, child_setup).build(@pool)
      end

      def runner(middleware)
        Execution::UnitRunner.new(monitor: @monitor, middleware: middleware, clock: @clock,
          critical: @settings.critical_errors, queue: @queue, failure_handler: failure_handler)
      end

      # Loaded only with `lock_metrics`.
      def meters
        return unless @settings.lock_metrics
        require_relative "../native/lock_meter"
        Native::LockMeter.tap(&:prepare)
      rescue ThreadError => error
        raise ConfigurationError.new([Problem.new("config.lock_metrics", "is true, but this process can't measure Ruby's lock: " \
          "#{error.message}", "Set it to false, or remove a library that measures the lock, too, such as a profiler")])
      end

      def failure_handler
        Execution::FailureHandler.new(monitor: @monitor, clock: @clock, producer: @producer, critical: @settings.critical_errors)
      end

      def thread_died(name, error)
        @monitor.instrument("error.occurred", {type: "worker.process.error", error: error, thread: name})
      end
    end
  end
end
