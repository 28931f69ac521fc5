# frozen_string_literal: true

module Penstock
  module Instrumentation
    # Texts about what a user can do after an error of Kafka or of its client library. Brokers and library only name the error;
    # the texts name the setting, the right or the command. Stateless; any thread.
    module KafkaHints
      FENCED = "Another producer uses the same transactional.id: give each producer its own"
      private_constant :FENCED

      # By {KafkaError#code}.
      HINTS = {
        unknown_topic_or_part: "Check the topic's name (`penstock topics list`) and that this user may see it, or create it " \
          "(`penstock topics create`)",
        unknown_partition: "The topic has no such partition: choose one that it has, or create more; to produce, leave out " \
          "`partition:`, so that the key chooses one",
        topic_authorization_failed: "Grant this user READ on the topic to consume from it, WRITE to produce to it, CREATE to " \
          "create it, DELETE to delete it, DESCRIBE_CONFIGS and ALTER_CONFIGS for its settings",
        group_authorization_failed: "Grant this user READ on the consumer group, to look at it DESCRIBE, to delete it DELETE",
        cluster_authorization_failed: "Grant this user the right on the cluster: CREATE for topics, DESCRIBE and ALTER for " \
          "rights and users, DESCRIBE_CONFIGS and ALTER_CONFIGS for brokers' settings. A producer needs WRITE on the topic it " \
          "produces to, and on brokers before Kafka 3.0 IDEMPOTENT_WRITE on the cluster",
        security_disabled: "The brokers check no rights: they need the setting authorizer.class.name",
        transactional_id_authorization_failed: "Grant this user WRITE and DESCRIBE on the transactional.id",
        msg_size_too_large: "Send less, or raise max.message.bytes of the topic, and message.max.bytes of the producer if it " \
          "is lower",
        msg_timed_out: "It wasn't acknowledged within message.timeout.ms: check bootstrap.servers, and that the topic exists",
        invalid_session_timeout: "Set session.timeout.ms, in milliseconds, between the broker's " \
          "group.min.session.timeout.ms and group.max.session.timeout.ms (6000 and 1800000 unless changed)",
        unsupported_version: "The broker doesn't have this request, or has it switched off: upgrade the broker. " \
          "`group.protocol: consumer` needs Kafka 4.0 or newer",
        unsupported_feature: "The broker doesn't have this request: upgrade it. The embedded broker of Penstock has none about " \
          "groups, rights and users: use Kafka for them",
        fenced_instance_id: "Another process uses the same static_membership (or group.instance.id): give each process its own",
        unreleased_instance_id: "A process that was killed keeps its static_membership (or group.instance.id) until its " \
          "session ends, normally after 45 s: this one tries again for a minute. Or another process uses the same: give each " \
          "its own",
        producer_fenced: FENCED,
        fenced: FENCED,
        fatal: "The client had a fatal error before, which has a line of its own with the reason",
        unstable_offset_commit: "An open transaction holds the offset: wait for its end, which comes after " \
          "transaction.timeout.ms at the latest. Kafka's kafka-transactions.sh lists those that hang (find-hanging) " \
          "and ends them (abort)",
        inconsistent_group_protocol: "Other members of the group use another partition.assignment.strategy or group.protocol: " \
          "give all processes of the group the same, or this application a group_id of its own"
      }.freeze

      # Codes of a producer without the right to write.
      UNWRITABLE = %i[topic_authorization_failed cluster_authorization_failed].freeze
      private_constant :UNWRITABLE

      # @param error [Exception, nil]
      # @param topic [String, nil] the topic that a message was for
      # @return [String, nil] a sentence without its full stop; nil for other errors, those without a remedy, and those whose
      #   message has it already
      def self.of(error, topic: nil)
        return unless error.respond_to?(:broker_message)

        hint = (topic && UNWRITABLE.include?(error.code)) ? writing(topic, error.code) : HINTS[error.code]
        hint unless hint && error.message.include?(hint)
      end

      def self.writing(topic, code)
        "Grant this user WRITE on the topic #{topic}" \
          "#{", and on brokers before Kafka 3.0 IDEMPOTENT_WRITE on the cluster" if code == :cluster_authorization_failed}"
      end
      private_class_method :writing
    end
  end
end
