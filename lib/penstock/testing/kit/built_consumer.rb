# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../consumer/context"
require_relative "../../execution/dispatch_to_dlq"
require_relative "../../on_demand"
require_relative "../../processing/unit"
require_relative "incoming_message"
require_relative "partition"
Penstock.load_constant :BaseConsumer, :Messages

module Penstock
  module Testing
    class Kit
      # The context of a consumer in an example: has all messages that it was given so far, also those that come after `consume`
      # was called once. Requests take effect when they are made, for no unit carries them.
      class ConsumerContext < Consumer::Context
        # @param partition [Partition]
        # @param list [Array<Message>] grows
        # @param attempt [Integer]
        def initialize(partition, list, attempt)
          super(partition, partition)
          @list = list
          @number = attempt
          show_list
        end

        # @return [Messages]
        def messages
          show_list unless @shown == @list
          super
        end

        # @return [Actions]
        def actions = lane.actions

        private

        def show_list
          @shown = @list.dup.freeze
          batch = Messages::MemoryBatch.new(lane.topic_name, lane.partition, [])
          messages = Messages::Listed.new(@shown, batch).processing!(Clock::SYSTEM.wall_ms)
          begin_unit(Processing::Unit.new(lane, :consume, messages, nil, @number, 0))
          take_flow
        end

        # A test may give a consumer messages of any partition.
        def check(message)
          super unless @list.include?(message)
        end
      end

      # A consumer of an example with everything around it. Created by {Kit}.
      class BuiltConsumer
        # @return [BaseConsumer]
        attr_reader :consumer
        # @return [Array<Message>] what it was given
        attr_reader :list

        # @param application [Application]
        # @param topic [Routing::Topic]
        # @param name [String] the topic's name; differs from the route's where a pattern matches it
        # @param partition [Integer]
        # @param attempt [Integer]
        def initialize(application, topic, name, partition:, attempt:)
          @list = []
          @next_offset = 0
          @partition = Partition.new(application, topic, name, partition, @list)
          @consumer = topic.consumer.new
          context = ConsumerContext.new(@partition, @list, attempt).tap { |one| one.consumer = @consumer }
          @consumer.penstock_context = context
          dead_letters = Execution::DispatchToDlq::Dependencies.new(topic.features[:dead_letter_queue], application.monitor,
            Clock::SYSTEM)
          Execution::DispatchToDlq.extend_consumer(@consumer, dead_letters)
          context.before_use { @consumer.__send__(:initialized) }
        end

        # @return [Actions]
        def actions = @partition.actions
        def topic_name = @partition.topic_name
        def partition = @partition.partition
        def group_id = @partition.topic.consumer_group_id

        # @return [Array] equal for consumers that no process would have at once
        def place = [group_id, topic_name, partition]

        # @return [void]
        def revoke = @partition.marks.end_ownership!

        # @return [void]
        def stop = @partition.stop!

        # @param produced [ProducedMessage]
        # @return [void]
        def receive(produced)
          offset = produced.input&.offset || @next_offset
          @next_offset = offset + 1
          @list << IncomingMessage.of(produced, @partition.topic.deserializers, offset: offset, marks: @partition.marks)
        end
      end
    end
  end
end
