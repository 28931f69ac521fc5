# frozen_string_literal: true

require_relative "../../on_demand"
require_relative "../../runtime/letter_topics"
require_relative "../errors"
require_relative "runner/journal"
require_relative "runner/limits"
require_relative "runner/other_member"
require_relative "runner/outside_time"
require_relative "runner/process"
require_relative "runner/progress"
require_relative "runner/world"
Penstock.load_constant :Application

module Penstock
  module Testing
    module Memory
      # Runs all routes of an application on an in-memory Kafka: its poll loops, ledgers and decisions are real, the time is
      # virtual, and user code runs on the thread that calls a method here. The application itself isn't started: no thread, no
      # signal handler, no connection.
      #
      # One per example, created when it is first needed. Between two calls the process and its groups stay as they are, and no
      # time passes. Ends with {#close}. Its states, and the calls that interrupt them, are in
      # docs/internals/testing-and-simulator.md.
      class Runner
        NESTED = "a consumer can't call consume_all or travel: the run that has called it continues by itself"
        private_constant :NESTED

        # @param application [Application] checked
        # @param relay [#call] sends waiting rows of the application's outbox, returns how many
        # @raise [ConfigurationError] there is nothing to consume
        def initialize(application, relay: -> { 0 })
          @application = application
          @relay = relay
          @groups = Application::TopicSelection.new(application.routes).groups(nil, nil)
          raise ConfigurationError.new([application.routes.nothing_to_consume]) if @groups.empty?
          @outside = OutsideTime.new
          @world = World.new(application, @outside.now_ms)
          @journal = Journal.new(@world.clock)
          @world.cluster.observer = @journal
          @skipped_ms = 0
          @others = []
          @running = false
          create_topics
        end

        # A message was produced: it is in its topic from now on. Any thread.
        # @param message [Kit::ProducedMessage]
        def produced(message)
          message.input ? check_topic(message.topic) : @journal.produced(message)
          skipped_ms = pending_ms
          @world.enter { @world.produced(message, skipped_ms) }
        end

        # @return [Integer] virtual time, in ms since 1970; between runs with the time that the test has skipped since the last
        #   one, which passes when the next one begins
        def wall_ms = pending_ms + @world.clock.wall_ms

        # Offsets of a transaction were committed.
        # @param rows [Array<Array>] topic, partition, offset, metadata, leader epoch
        # @param group [#group_id, #member_id, #generation]
        def offsets_committed(rows, group)
          request = Kafka::CommitPath::Request.new(nil, nil, rows, group.member_id, group.generation, @world.timeline.now)
          @world.cluster.groups.fetch(group.group_id).commit(request)
        end

        # @see Kit#consume_all
        def consume_all(within: nil, raise_errors: false, limit: Limits::CALLS)
          run(limit: limit, raise_errors: raise_errors) do |limits|
            catch_up(limits)
            advance(limits, within && (@world.timeline.now + milliseconds(within)))
          end
        end

        # @see Kit#travel
        def travel(duration, raise_errors: false, limit: Limits::CALLS)
          run(limit: limit, raise_errors: raise_errors, travel: true) do |limits|
            catch_up(limits)
            pass(limits, milliseconds(duration))
          end
        end

        # @see Kit#rebalance
        def rebalance(topic = nil, partitions: nil)
          keys = keys_to_move(topic&.to_s, partitions)
          @world.enter do
            @others.concat(keys.map { |group, its_keys| OtherMember.new(@world, group, its_keys, stay: !@running) })
            @running ? until_noticed(keys) : until_taken
          end
          nil
        end

        # @see Kit#crash
        def crash
          process = living("crash")
          @world.enter { process.drivers.each { |driver| @journal.died(driver) } && process.crash }
          return unless @running
          @journal.run.crashed = true
          raise Crashed
        end

        # Ends the example: nothing of the process runs any more.
        def close
          @world.enter { @process.crash } if @process && !@process.dead?
          @process = nil
        end

        # @param topic [String]
        # @return [Integer, nil] number of its partitions; nil: it doesn't exist
        def partitions_of(topic) = @world.cluster.topics[topic]&.size

        # @return [Kafka::Cluster] for tests
        # @api private
        def cluster = @world.cluster

        private

        # --- runs

        def run(limit:, raise_errors:, travel: false)
          raise RunStateError, NESTED if @running
          @running = true
          limits = Limits.new(@journal, calls: limit, raise_errors: raise_errors, travel: travel)
          @world.enter do
            start
            yield limits
          end
          finish(limits)
        ensure
          @running = false
        end

        def start
          @others.each(&:leave)
          return if @process&.running?
          @process = Process.new(@world, @journal, @groups)
          @progress = Progress.new(@process)
        end

        def finish(limits)
          abort = @journal.abort
          run = @journal.begin_run
          run.finish(@world.clock.monotonic_ms, @progress.lanes, @world.clock, abort: abort)
          limits.raise_error(run)
          raise @process.reason if @process.reason && !run.crashed?
          run
        end

        # @return [Integer] ms that Rails' time helpers have skipped since the last run
        def pending_ms
          return 0 if @running
          @skipped_ms += @outside.skipped_ms
        end

        # The time that Rails' time helpers have skipped passes first.
        def catch_up(limits)
          skipped, @skipped_ms = @skipped_ms + @outside.skipped_ms, 0
          pass(limits, skipped) if skipped.positive?
        end

        # Until nothing is left to do.
        # @param ends [Integer, nil] virtual ms; what is due later isn't waited for
        def advance(limits, ends = nil)
          until limits.reached?
            state = state_of_instant
            return settle if state != :busy && (state.nil? || (ends && state > ends))
            step(limits)
          end
        end

        # Lets time pass, also if nothing is to be done.
        def pass(limits, duration_ms)
          ends = @world.timeline.now + duration_ms
          until limits.reached?
            due = @world.timeline.next_at
            late = due.nil? || due > ends
            break if state_of_instant != :busy && late
            read_outcomes if late
            step(limits)
          end
          @world.timeline.pass_to(ends) unless limits.reached?
        end

        # A loop reads the outcome of a call that succeeded when it wakes up next, which may be for a call that is due after the
        # end: it reads it now. Once at each time, so that time passes.
        def read_outcomes
          return if @read_at == @world.timeline.now
          @read_at = @world.timeline.now
          @progress.wake_readers
        end

        # A process is looked at only when everything that happens at this time has happened.
        def state_of_instant
          @world.listen
          return :busy if @world.timeline.next_at == @world.timeline.now
          @others.reject!(&:gone?)
          return :busy if @others.any?
          state = @progress.state
          (state != :busy && relayed?) ? :busy : state
        end

        # A relay is no part of the process: its thread and its database have the real time.
        # @return [Boolean] whether messages of the outbox arrive now
        def relayed?
          before, World.current = World.current, nil
          @relay.call.positive?
        ensure
          World.current = before
        end

        # Events for listeners may be left.
        def settle = (@world.step while @world.timeline.next_at == @world.timeline.now)

        def step(limits)
          return if @process.dead?
          limits.count
          @world.step || raise(InternalError, "the run is stuck: #{@progress.lanes.map(&:snapshot).inspect[0, 500]}")
        end

        def milliseconds(duration)
          seconds = duration.to_r
          raise ArgumentError, "time passes forwards: #{duration.inspect} is below 0" if seconds.negative?
          (seconds * 1_000).round
        end

        # --- topics

        # The name may be misspelt.
        def check_topic(name)
          routed = @groups.flat_map(&:active_topics)
          return if routed.any? { |topic| topic.pattern? ? topic.pattern.match?(name) : topic.name == name }
          @journal.unread(name, Nearest.hint(name, routed.reject(&:pattern?).map(&:name)))
        end

        def create_topics
          topics = @groups.flat_map(&:active_topics).reject(&:pattern?)
          topics.each { |topic| @world.topic(topic.name, like: topic.features[:retry_topics]&.of(topic.name)&.source) }
          Runtime::LetterTopics.wanted(topics).each { |letters| @world.topic(letters.name, like: letters.like) }
        end

        # --- rebalances

        def living(what)
          return @process if @process&.running?
          raise RunStateError, "no process runs that could #{what}: call penstock.consume_all first, or call this in a consumer"
        end

        def keys_to_move(topic, partitions)
          living("lose partitions")
          numbers = partitions && Array(partitions)
          wanted = @process.drivers.reject(&:direct?).group_by(&:group).transform_values do |drivers|
            keys = drivers.flat_map(&:assigned)
            keys.select { |name, number| (topic.nil? || name == topic) && (numbers.nil? || numbers.include?(number)) }
          end
          wanted.reject! { |_group, keys| keys.empty? }
          return wanted if wanted.any?
          raise RunStateError, "the process has no partition #{[topic, *partitions].compact.join("/")} that it could lose; it " \
            "has #{@process.drivers.flat_map(&:assigned).map { |key| key.join("/") }.join(", ")}"
        end

        # In a consumer: its partition is revoked when it has returned; it sees that it is about to be.
        def until_noticed(keys)
          ends = @world.timeline.now + OtherMember::REBALANCE_MS
          lanes = @progress.lanes.select { |lane| keys.each_value.any? { |its_keys| its_keys.include?(lane.key) } }
          running = @world.running
          running.sleep_until(@world.timeline.now + 1) until lanes.all?(&:leaving?) || @world.timeline.now >= ends
        end

        # The other processes raise an error if they don't get the partitions.
        def until_taken = (@world.step until @others.all?(&:owner?))
      end
    end
  end
end
