# frozen_string_literal: true

require_relative "../../consumer/claim"
require_relative "../../consumer/marks"
require_relative "actions"

module Penstock
  module Testing
    class Kit
      # Marks that are recorded.
      class RecordedMarks < Consumer::Marks
        # @param actions [Actions]
        # @param exact [Boolean] see {Consumer::Marks}
        def initialize(actions, exact: false)
          super(exact: exact)
          @actions = actions
        end

        def mark(offset, metadata = nil)
          super.tap { |counts| @actions.marked(offset, metadata) if counts }
        end
      end

      # Stands in for a partition that the process owns, as far as a consumer sees it: its lane, and the connection to a poll
      # loop. Requests that a loop would carry out are recorded. Belongs to a {BuiltConsumer}.
      class Partition
        # @return [Routing::Topic]
        attr_reader :topic
        # @return [String]
        attr_reader :topic_name
        # @return [Integer]
        attr_reader :partition
        # @return [RecordedMarks]
        attr_reader :marks
        # @return [Actions]
        attr_reader :actions
        # @return [Boolean]
        attr_reader :stopping
        alias_method :stopping?, :stopping

        # @param application [Application]
        # @param topic [Routing::Topic]
        # @param topic_name [String]
        # @param partition [Integer]
        # @param messages [Array<Message>] what it has received, to seek by time
        def initialize(application, topic, topic_name, partition, messages)
          @application = application
          @topic = topic
          @topic_name = topic_name
          @partition = partition
          @messages = messages
          @actions = Actions.new
          @marks = RecordedMarks.new(@actions,
            exact: topic.features[:parallel]&.offset_metadata_strategy == :exact)
          @stopping = false
        end

        # @return [void]
        def stop! = @stopping = true

        # @!group As a lane

        def key = [topic_name, partition]
        def incarnation = 0
        def adopted_metadata = nil
        def by_key? = false
        def breaker = nil
        def ledger = nil # nothing is complete before `consume` has returned
        def log_end = nil

        # @!endgroup
        # @!group As the connection to a poll loop

        def producer = @application.producer
        def insights(_lane) = {}
        def monitor = @application.monitor
        def instrument(event, payload) = monitor.instrument(event, payload)
        def request(_lane, request) = actions.requested(request)

        def commit(_lane, _incarnation = nil)
          actions.requested(:commit)
          marks.owned?
        end

        # @return [Integer, nil]
        def offset_at(_lane, at_ms) = @messages.find { |message| message.timestamp_ms >= at_ms }&.offset

        # The offset is granted at once: nothing else runs in the partition.
        def claim(claim)
          return claim.refuse unless marks.owned?

          offset = claim.marks.map { |_cell, marked| marked }.max + 1
          claim.grant([topic_name, partition, offset, claim.metadata.to_s, -1], nil)
        end

        def end_claim(claim, fate)
          claim.marks.each { |_cell, offset| marks.mark(offset, claim.metadata) } if fate == :committed
        end

        # @!endgroup
      end
    end
  end
end
