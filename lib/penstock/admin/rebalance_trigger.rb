# frozen_string_literal: true

require_relative "../config/kafka_map"
require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/token_request"
require_relative "../native/consumer"
require_relative "../native/kafka_error"

module Penstock
  class Admin
    # Makes a group rebalance: joins it as another member, and leaves as soon as it has been given its part. It consumes and
    # commits nothing. Each member of the group sees two rebalances. Runs on the caller's thread and holds a connection meanwhile.
    class RebalanceTrigger
      CLOSE_MS = 10_000
      # Of a member that goes again: it must not be taken for one that will be back, nor write anything.
      SETTINGS = {"enable.auto.commit" => "false", "enable.auto.offset.store" => "false"}.freeze
      # Those that librdkafka has.
      ASSIGNORS = %w[range roundrobin cooperative-sticky].freeze
      PROTOCOL = %w[group.protocol partition.assignment.strategy].freeze
      # A group that nobody has joined yet, and a broker that doesn't describe groups.
      UNDESCRIBED = %i[group_id_not_found unsupported_feature].freeze
      private_constant :CLOSE_MS, :SETTINGS, :ASSIGNORS, :PROTOCOL, :UNDESCRIBED

      # @param session [Session]
      # @param groups [Groups]
      # @param settings [Hash{String => String}] librdkafka's, of a member of the group; the protocol and the assignor of the
      #   group are looked up unless they are among them
      def initialize(session, groups, settings)
        @session = session
        @groups = groups
        @settings = settings
      end

      # @param group [String]
      # @param topics [Array<String>]
      # @raise [KafkaError] `:unknown_topic_or_part`: none of the topics exists
      # @raise [WaitTimeoutError] the group didn't let it join within the time
      def call(group, topics)
        topics = existing(topics)
        consumer = Native::Consumer.new({**member(group), "group.id" => group})
        consumer.subscribe(topics)
        await_assignment(consumer, group, Deadline.in(@session.timeout_ms))
      ensure
        consumer&.close(CLOSE_MS)
      end

      private

      # A client that subscribes only to topics that don't exist never joins.
      def existing(topics)
        known = @session.partitions
        found = topics.select { |topic| known.key?(topic) || topic.start_with?("^") }
        return found if found.any?

        raise Native.error_for(Native.error_number(:unknown_topic_or_part), topics.join(", "),
          "no such topic: name one that the group's members consume")
      end

      def member(group)
        common = @session.connection.consumer_settings
        common = common.except(*Config::KafkaMap::MEMBERSHIP).merge(protocol(group)) unless (PROTOCOL & @settings.keys).any?
        common.merge(@settings).except("group.instance.id", "statistics.interval.ms").merge(SETTINGS)
      end

      # The group refuses a member that doesn't agree with the others.
      def protocol(group)
        info = @groups.info(group)
        return {"group.protocol" => "consumer"} if info[:type].to_s.casecmp?("consumer")

        ASSIGNORS.include?(info[:assignor]) ? {"partition.assignment.strategy" => info[:assignor]} : Config::KafkaMap::CLASSIC_GROUP
      rescue KafkaError => error
        raise unless UNDESCRIBED.include?(error.code)

        Config::KafkaMap::CLASSIC_GROUP
      end

      def await_assignment(consumer, group, deadline)
        until deadline.expired?
          consumer.wait([deadline.remaining_ms, 100].min)
          while (event = consumer.poll_event)
            return consumer.answer if event.first == :assign

            handle(consumer, event)
          end
        end
        raise WaitTimeoutError, "group #{group}: no rebalance within #{@session.timeout_ms} ms"
      end

      def handle(consumer, event)
        case event.first
        when :revoke then consumer.answer
        when :token_refresh then give_token(consumer)
        when :error then refuse(event)
        end
      end

      # Errors that pass by themselves, as a connection that is tried again, only cost time.
      def refuse(event)
        number, message, fatal = event.values_at(1, 3, 4)
        error = Native.error_for(number, "rebalance", message)
        raise error if fatal || !error.retriable?
      end

      def give_token(consumer)
        provider = @session.connection.token_provider or return
        Instrumentation::TokenRequest.call(provider, consumer, @session.timeout_ms)
      end
    end
  end
end
