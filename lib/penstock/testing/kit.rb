# frozen_string_literal: true

require_relative "../framework"
require_relative "../nearest"
require_relative "../printable"
require_relative "errors"
require_relative "kit/built_consumer"
require_relative "kit/example_clock"
require_relative "kit/examples"
require_relative "kit/incoming_message"
require_relative "kit/job_waits"
require_relative "kit/memory_client"
require_relative "kit/produced_message"
require_relative "kit/route_lookup"
require_relative "kit/whole_application"

module Penstock
  # Tools for tests of applications. Never loaded by a running application.
  module Testing
    # The object `penstock` of an example: builds consumers, gives them messages, and keeps what was produced. Nothing is sent
    # to Kafka meanwhile: the application's producer has a client in memory until {#close}.
    #
    # One per example, created by {Minitest} and {RSpec}; without them: `Kit.new.open`, and `close` at the end. User code runs on
    # the thread that calls it. Threads that the example starts may produce too.
    class Kit
      # Options of {#produce}.
      OPTIONS = %i[topic key partition partition_key headers timestamp label offset].freeze
      # Names of earlier versions of Karafka's helpers.
      ALIASES = {raw_key: :key, raw_headers: :headers}.freeze
      private_constant :OPTIONS, :ALIASES

      # @return [Array<ProducedMessage>] everything that was produced in this example, in order; messages of a transaction once
      #   it is committed. May be changed, for example with `clear`
      attr_reader :produced_messages

      # @param example [Object, nil] the test: may have methods `consumer`, `penstock_application`, `penstock_producers`
      def initialize(example = nil)
        @example = example
        @produced_messages = []
        @consumers = []
        @held = []
        @offsets = Hash.new(0)
        @lock = Mutex.new
        @open = false
        @whole = WholeApplication.new(self)
      end

      # Begins the example: from now on messages stay in memory.
      # @return [self]
      # @raise [ConfigurationError] the application's settings can't be used
      def open
        @open = true
        JobWaits.install
        Examples.begin(self)
        hold(application) if application?
        capture(*example_value(:penstock_producers))
        self
      rescue
        close
        raise
      end

      # Ends the example: producers have their own clients again. Does nothing the second time.
      # @return [void]
      def close
        return unless @open

        @open = false
        @whole.close
        @held.each { |producer| Examples.release(producer) }
        @held.clear
      ensure
        Examples.end(self)
      end

      # @return [Boolean]
      def open? = @open

      # @return [Application] the one that is tested: `penstock_application` of the example, or {Penstock.app}
      # @raise [ApplicationNotLoadedError]
      # @raise [ConfigurationError] several applications are defined, and none has `default false`
      def application
        found = example_value(:penstock_application) || Penstock.app
        found = found.application if found.respond_to?(:application)
        found || raise(ApplicationNotLoadedError, "no application is defined: require your boot file (penstock.rb, or in Rails " \
          "config/environment) before the tests, or define `penstock_application` in the test")
      end

      # Keeps messages of other producers in memory too, until the end of the example. (The application's own is always kept.)
      # @param producers [Array<Producer, Producer::Variant>]
      # @return [void]
      # @raise [ArgumentError] for anything else
      def capture(*producers)
        producers.flatten.each do |producer|
          raise ArgumentError, "a Penstock::Producer can be captured, not #{Printable.inspect(producer)}" unless
            producer.respond_to?(:substitute)

          @held << producer
          Examples.hold(producer) { MemoryClient.new }
        end
      end

      # Runs the block as a part of this example, in a thread that was not started by it. Needed only where examples run in
      # several threads at once.
      # @return [Object] the block's return value
      def within(&) = Examples.within(self, &)

      # Builds the consumer of a route, as a process does that has this partition; its `initialized` has run.
      # @param topic [String, Symbol] a topic of the routes, or the name of a pattern
      # @param group [String, Symbol, nil] its consumer group; needed if several read the topic
      # @param consumer_group [String, Symbol, nil] same
      # @param partition [Integer]
      # @param attempt [Integer] as which attempt it consumes
      # @return [BaseConsumer]
      # @raise [TopicNotFoundError, ConsumerGroupNotFoundError, TopicInManyConsumerGroupsError]
      # @raise [ConfigurationError] settings or routes are wrong
      def consumer_for(topic, group = nil, consumer_group: nil, partition: 0, attempt: 1)
        ensure_open
        route, name = RouteLookup.new(hold(application).routes).call(topic, group || consumer_group)
        built = BuiltConsumer.new(application, route, name, partition: partition, attempt: attempt)
        @consumers.reject! { |other| other.place == built.place }
        @consumers << built
        built.consumer
      end

      # Produces a message with the application's producer: it is checked, runs through middleware, is among
      # {#produced_messages}, and is delivered to the consumer.
      # @param payload [String, nil]
      # @param metadata [Hash] `topic:` (by default that of `consumer`, or of the consumer built last), `key:`, `partition:`,
      #   `headers:`, `timestamp:`, `label:`, `offset:` (by default counted from 0)
      # @return [Producer::Delivery::Report]
      # @raise [AmbiguousMessageError] consumers of several groups were built for the topic, or none and no topic is given
      # @raise [ArgumentError] an unknown option
      # @raise [MessageInvalidError] as the producer
      def produce(payload, metadata = {}, **options)
        message = message(payload, metadata.merge(options))
        target = target_of(message[:topic])
        send_message(message, target, topic: message[:topic] || target.topic_name)
      end

      # Same as {#produce}, for this consumer only.
      # @param consumer [BaseConsumer] from {#consumer_for}
      # @param payload [String, nil]
      # @param metadata [Hash]
      # @return [Producer::Delivery::Report]
      def produce_to(consumer, payload, metadata = {}, **options)
        built = built(consumer)
        send_message(message(payload, metadata.merge(options)), built, topic: built.topic_name)
      end

      # @param consumer [BaseConsumer, nil] by default the one built last
      # @return [Array<Message>] the messages that its `consume` sees; may be changed, for example with `clear`
      def consumer_messages(consumer = nil) = (consumer ? built(consumer) : default_consumer).list

      # @param consumer [BaseConsumer, nil] by default the one built last
      # @return [Actions] what it has marked, paused, sought, committed
      def actions(consumer = nil) = (consumer ? built(consumer) : default_consumer).actions

      # From now on the partition counts as revoked: marks return false, `revoked?` and `stopping?` are true. Calls no hook.
      # @param consumer [BaseConsumer]
      # @return [void]
      def revoke(consumer) = built(consumer).revoke

      # From now on the process counts as stopping: `stopping?` is true. Calls no hook.
      # @param consumer [BaseConsumer]
      # @return [void]
      def stop(consumer) = built(consumer).stop

      # Runs all routes of the application over everything that was produced, until nothing is left to do: on an in-memory Kafka,
      # on the calling thread. Back-offs, retry topics, delays and waits for a batch pass in virtual time.
      #
      # @param within [Numeric, ActiveSupport::Duration, nil] seconds of virtual time: a record that is due later isn't waited
      #   for. 0: no back-off or delay passes. nil: all of them
      # @param raise_errors [Boolean] whether the first error of a consumer ends the run and is raised
      # @param limit [Integer] calls of consumers after which the run counts as endless; 10,000 by default
      # @return [Memory::Run] its report
      # @raise [EndlessRunError] more than `limit` calls, or a thousand attempts at one record
      # @raise [ConfigurationError] settings or routes are wrong
      # @raise [RunStateError] called in a consumer
      # @raise [Exception] an assertion that failed in a consumer; an error that stopped the process; with `raise_errors` the
      #   first error of a consumer
      def consume_all(**options) = @whole.runner.consume_all(**options)

      # Lets virtual time pass: runs everything that becomes due meanwhile, and ticks of periodic routes. Rails' time helpers move
      # the virtual time too.
      #
      # @param duration [Numeric, ActiveSupport::Duration] seconds
      # @param options [Hash] `raise_errors:` and `limit:` of {#consume_all}
      # @return [Memory::Run] the report of this time
      # @raise [Exception] as {#consume_all}
      def travel(duration, **options) = @whole.runner.travel(duration, **options)

      # Another process takes partitions over, and gives them back when the next run begins: records that weren't marked are
      # consumed again. In a consumer it only begins: `revoked?` is true from here on, and the rest follows when the consumer has
      # returned.
      #
      # @param topic [String, Symbol, nil] nil: all
      # @param partitions [Integer, Array<Integer>, nil] nil: all
      # @return [void]
      # @raise [RunStateError] no process runs yet, or it doesn't have these partitions
      def rebalance(topic = nil, partitions: nil) = @whole.runner.rebalance(topic, partitions: partitions)

      # The process dies as by `kill -9`: nothing is committed, no hook is called, its memory is lost. The next run starts another
      # one, which consumes again what hadn't been committed. In a consumer it raises {Memory::Crashed}, which ends the run.
      #
      # @return [void]
      # @raise [RunStateError] no process runs yet
      def crash = @whole.runner.crash

      # @return [Array<ProducedMessage>] without those that the test itself has produced
      # @api private
      def messages_of_code = produced_messages.reject(&:input)

      # @param message [ProducedMessage]
      # @return [Object, nil] its payload as consumers of its topic see it; without a route: as JSON; its bytes if that isn't
      #   possible
      # @api private
      def decode(message)
        topic = application.routes.find(message.topic) || application.routes.default_topic
        IncomingMessage.of(message, topic.deserializers).payload
      rescue # an application's deserializer may raise anything
        message.payload
      end

      # Called by the client when a message is produced.
      # @api private
      def accept(topic, payload, *others)
        key, partition, timestamp, headers, _handle, label = others
        topic = topic.to_s[/.*/] # a topic with properties of its own is named before a line's end
        partition = nil if partition&.negative?
        input, label = label, label.label if label.is_a?(ProducedMessage::Input)
        rest = {key: key, partition: partition, timestamp: timestamp, headers: headers, label: label}.compact
        place = partition || @whole.place_of(topic, key)
        offset = @lock.synchronize { (@offsets[[topic, place]] += 1) - 1 }
        ProducedMessage.new({topic: topic, payload: payload, **rest}, partition: place, offset: offset, input: input)
      end

      # @return [Application] whose producer is held
      # @api private
      def tested_application = hold(application)

      # Called by the client when a transaction with offsets is committed.
      # @api private
      def offsets_committed(rows, group) = @whole.offsets_committed(rows, group)

      # Called by the client when a message is visible to consumers.
      # @api private
      def deliver(message)
        @produced_messages << message
        receivers = message.input ? [message.input.consumer].compact : receivers_of(message)
        receivers.each { |built| built.receive(message) }
        @whole.produced(message)
      end

      # @return [Integer, nil] virtual time, in ms since 1970; nil before the first run
      # @api private
      def wall_ms = @whole.wall_ms

      # @param topic [String]
      # @return [Integer] number of partitions
      # @api private
      def partitions_of(topic) = @whole.partitions_of(topic) || application.routes.find(topic)&.declaration&.partitions || 1

      private

      def application? = !(example_value(:penstock_application) || Penstock.app).nil?

      def example_value(name) = (@example.__send__(name) if @example.respond_to?(name, true))

      # Also called later, where the application is defined after the example began.
      def hold(application)
        RouteLookup.check(application)
        producer = application.producer
        return application if @held.include?(producer)

        capture(producer)
        application.delays.clock = ExampleClock.new
        application
      end

      def ensure_open
        raise ApplicationNotLoadedError, "the example of this kit has ended, or hasn't begun" unless open?
      end

      # -- producing --

      def message(payload, options)
        ensure_open
        options = options.transform_keys { |name| ALIASES.fetch(name, name) }
        unknown = options.keys - OPTIONS
        return {payload: payload, **options} if unknown.empty?

        raise ArgumentError, ["produce doesn't take #{unknown.map(&:inspect).join(", ")}, but #{OPTIONS.join(", ")}",
          *Nearest.hint(unknown.first, OPTIONS)].join(". ")
      end

      def send_message(message, target, topic:)
        input = ProducedMessage::Input.new(target, message[:offset], message[:label])
        hold(application).producer.produce_sync({**message.except(:offset), topic: topic, label: input})
      end

      # -- which consumer --

      def built(consumer)
        @consumers.find { |one| one.consumer.equal?(consumer) } ||
          raise(ArgumentError, "#{Printable.inspect(consumer)} wasn't built in this example: build it with penstock.consumer_for")
      end

      # @return [BuiltConsumer, nil] nil when no consumer of the topic was built
      def target_of(topic)
        return the_only(topic.to_s) if topic

        default = default_consumer
        default.consumer.equal?(named) ? default : the_only(default.topic_name)
      end

      def the_only(topic)
        found = @consumers.select { |built| built.topic_name == topic }
        return found.first if found.size < 2

        raise AmbiguousMessageError, "#{topic} is read by #{found.map { |one| one.consumer.inspect }.join(" and ")} here: " \
          "name the one that gets the message, with penstock.produce_to(consumer, payload)"
      end

      # A consumer that `let(:consumer)` or `subject(:consumer)` defines is built when it is first used, which is here.
      def default_consumer
        consumer = named
        @consumers.find { |built| built.consumer.equal?(consumer) } || @consumers.last ||
          raise(AmbiguousMessageError, "no consumer was built in this example yet: call penstock.consumer_for(topic) first, or " \
            "give penstock.produce a topic:")
      end

      def named
        return @example.consumer if @example.respond_to?(:consumer)

        example_value(:penstock_subject) if @consumers.empty?
      end

      # Every group has a copy of a message; in a group the consumer of its partition, or the only one.
      def receivers_of(message)
        @consumers.select { |built| built.topic_name == message.topic }.group_by(&:group_id).flat_map do |_group, found|
          (found.size == 1) ? found : found.select { |built| built.partition == message.partition }
        end
      end
    end
  end
end
