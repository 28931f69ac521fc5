# frozen_string_literal: true

require_relative "../consumer/claim"
require_relative "../errors"
require_relative "loop/mailbox"

module Penstock
  module Runtime
    # Connects user code with its poll loop: posts requests and waits for acknowledgements. Any thread; holds no lock while
    # waiting.
    class LoopClient
      # How long a blocking call waits before it answers that the outcome is unknown.
      PATIENCE_S = 30.0
      LOOKUP_MS = 10_000

      # @param driver [Native::Consumer] for look-ups that any thread may make
      # @param mailbox [Mailbox]
      # @param process [ProcessContext]
      # @param insights [Insights]
      def initialize(driver:, mailbox:, process:, insights:)
        @insights = insights
        @driver = driver
        @mailbox = mailbox
        @process = process
      end

      # @param incarnation [Integer] the lane's, in which the marks were made
      # @return [Boolean] whether the marks of the lane are acknowledged; false when it isn't ours any more, or has a new
      #   incarnation
      def commit(lane, incarnation = lane.incarnation)
        return false unless lane.marks.owned?
        wait = CommitWait.new(lane, incarnation)
        @mailbox.post(wait)
        wait.wait(PATIENCE_S)
      end

      # A transaction claims its lane's offset slot.
      # @param claim [Consumer::Claim]
      def claim(claim) = @mailbox.post(claim)

      # @param claim [Consumer::Claim] whose transaction has ended, or whose end isn't known
      # @param fate [Symbol]
      def end_claim(claim, fate) = @mailbox.post(Consumer::Claim::TransactionEnd.new(claim, fate))

      # @return [Instrumentation::Monitor]
      def monitor = @process.monitor

      # @param event [String]
      def instrument(event, payload) = @process.monitor.instrument(event, payload)

      # @param lane [Processing::Lane]
      # @param flow [Consumer::Flow, Symbol]
      def request(lane, flow) = @mailbox.post(Mailbox::Request.new(lane, flow))

      # @param time_ms [Integer] ms since the epoch
      # @return [Integer, nil] offset of the first record at or after that time
      def offset_at(lane, time_ms)
        row = @driver.offsets_for_times([[lane.topic_name, lane.partition, time_ms]], LOOKUP_MS).first
        _topic, _partition, offset, number = row
        raise KafkaError.build(number: number, name: "offsets_for_times", message: "look-up by time failed") unless number.zero?
        offset.negative? ? nil : offset
      end

      # @return [Hash{String => Object}] the client's statistics of the partition
      def insights(lane) = @insights.of(lane)

      # @return [Clock] the process's
      def clock = @process.clock

      # @return [CautiousClock] the process's
      def cautious_clock = @process.cautious_clock

      # @return [Producer]
      def producer = @process.producer

      # @return [Producer, nil] the replacement of a closed one
      def producer_replacement(closed) = @process.producer_replacement(closed)

      # @return [Boolean] whether the process is stopping
      def stopping? = @process.stopping?
    end
  end
end
