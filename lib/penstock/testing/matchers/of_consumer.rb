# frozen_string_literal: true

require_relative "../../on_demand"
require_relative "../../processing/failure/provenance"
require_relative "matcher"
require_relative "values"
Penstock.load_constant :Message

module Penstock
  module Testing
    module Matchers
      # Base class of what is expected of a consumer.
      class OfConsumer < Matcher
        # @param consumer [BaseConsumer] built by the kit of the example
        # @return [Boolean]
        # @raise [ArgumentError] it wasn't
        def matches?(consumer)
          @consumer = consumer
          @actions = @kit.actions(consumer)
          fulfilled?
        end

        private

        def subject = "the consumer #{@consumer.class} of #{@consumer.messages.metadata.topic}/#{@consumer.partition}"

        def offset_of(expected) = expected.is_a?(Message) ? expected.offset : expected

        def place(expected) = given?(expected) ? " #{show(expected)}" : ""
      end

      # Whether it has marked a message as consumed. A mark completes every earlier message of the partition too.
      class Marked < OfConsumer
        # @param kit [Kit]
        # @param offset [Integer, Message, #===] an Integer also matches a mark of a later message
        # @param metadata [String, #===] of a mark at exactly this offset
        def initialize(kit, offset = ANY, metadata: ANY)
          super(kit)
          @offset = offset_of(offset)
          @metadata = metadata
        end

        def description
          "have marked#{given?(@offset) ? " offset#{place(@offset)}" : " a message"}#{with("metadata" => @metadata)}"
        end

        private

        def fulfilled?
          return @actions.marks.any? && @offset <= @actions.marked_offset if @offset.is_a?(Integer) && !given?(@metadata)

          @actions.marks.any? { |mark| Values.match?(@offset, mark.offset) && Values.match?(@metadata, mark.metadata) }
        end

        def found
          return "it has marked nothing#{automatic}" if @actions.marks.empty?

          "it has marked:#{list(@actions.marks.map { |mark| text(mark) })}"
        end

        def text(mark) = "offset #{mark.offset}#{with("metadata" => mark.metadata || ANY)}"

        def automatic
          return if @consumer.topic.manual_offset_management?

          ". (Its route has automatic offsets: in production everything that a call of consume was given counts as " \
            "consumed when " \
            "it returns, without a mark)"
        end
      end

      # Whether it has paused its partition.
      class Paused < OfConsumer
        # @param kit [Kit]
        # @param offset [Integer, Message, :consecutive, #===] where it continues
        # @param timeout [Numeric, ActiveSupport::Duration, #===] ms; `Float::INFINITY`: until it is resumed
        def initialize(kit, offset = ANY, timeout: ANY)
          super(kit)
          @offset = offset_of(offset)
          timeout = timeout.in_milliseconds if !timeout.is_a?(Numeric) && timeout.respond_to?(:in_milliseconds)
          @timeout = timeout
        end

        def description
          "have paused#{" at" if given?(@offset)}#{place(@offset)}#{with("timeout" => @timeout)}"
        end

        private

        def fulfilled?
          @actions.pauses.any? do |pause|
            Values.match?(@offset, pause.offset || :consecutive) && Values.match?(@timeout, timeout_of(pause))
          end
        end

        def timeout_of(pause) = pause.timeout_ms || Float::INFINITY

        def found
          return "it has paused nothing" if @actions.pauses.empty?

          "it has paused:#{list(@actions.pauses.map { |one|
            "at #{show(one.offset || :consecutive)} for #{timeout_of(one)} ms"
          })}"
        end
      end

      # Whether it has continued at another offset.
      class Sought < OfConsumer
        # @param kit [Kit]
        # @param target [Integer, Message, :earliest, :latest, #===] for a seek to a time: the offset found
        def initialize(kit, target = ANY)
          super(kit)
          @target = offset_of(target)
        end

        def description = "have sought#{place(@target)}"

        private

        def fulfilled? = @actions.seeks.any? { |seek| Values.match?(@target, seek.target) }

        def found
          return "it has sought nothing" if @actions.seeks.empty?

          "it has sought:#{list(@actions.seeks.map { |seek| show(seek.target) })}"
        end
      end

      # Whether it has dead-lettered a message itself, with `dispatch_to_dlq`. (Failed messages are dead-lettered after several
      # attempts, by what calls the consumer.)
      class DeadLettered < OfConsumer
        # @param kit [Kit]
        # @param offset [Integer, Message, #===]
        # @param topic [String, Symbol, #===] of the dead letters
        # @param reason [Class, String, #===] class or message of the error that was given as the reason
        def initialize(kit, offset = ANY, topic: ANY, reason: ANY)
          super(kit)
          @offset = offset_of(offset)
          @topic = topic.is_a?(Symbol) ? topic.to_s : topic
          @reason = reason
        end

        def description = "have dead-lettered#{given?(@offset) ? " offset#{place(@offset)}" : " a message"}" \
          "#{with("topic" => @topic, "reason" => @reason)}"

        private

        def fulfilled? = letters.any? { |message, source| fits?(message, source) }

        def letters = @kit.messages_of_code.filter_map { |message| source_of(message)&.then { |source| [message, source] } }

        # @return [Processing::Failure::Provenance::Source, nil] if it is a letter of this consumer
        def source_of(message)
          source = Processing::Failure::Provenance.read(message.headers)
          source if source&.error_class && source.group == @consumer.topic.consumer_group_id &&
            source.topic == @consumer.messages.metadata.topic
        end

        def fits?(message, source)
          Values.match?(@offset, source.offset) && Values.match?(@topic, message.topic) && reason?(source)
        end

        def reason?(source)
          return @reason.name == source.error_class if @reason.is_a?(Class)

          Values.match?(@reason, source.error_message)
        end

        def found
          return "it has dead-lettered nothing#{without_queue}" if letters.empty?

          "it has dead-lettered:#{list(letters.map { |message, source| text(message, source) })}"
        end

        def without_queue = (". Its route has no dead_letter_queue" unless @consumer.respond_to?(:dispatch_to_dlq))

        def text(message, source)
          "offset #{source.offset} to #{Printable.line(message.topic, VALUE_BYTES)} (#{Printable.line(source.error_class)}: " \
            "#{Printable.line(source.error_message, VALUE_BYTES)})"
        end
      end
    end
  end
end
