# frozen_string_literal: true

require_relative "../on_demand"
require_relative "offsets_record"
require_relative "topic_reader"
Penstock.load_constant :Admin

module Penstock
  class Admin
    # Reads what groups have committed without their coordinator: from the records of `__consumer_offsets`, in which brokers
    # store commits. For a group whose coordinator is broken, so that it can neither be joined nor asked:
    #
    #     offsets = Penstock::Admin::Recovery.read_committed_offsets("billing", last_committed_at: Time.now - 86_400)
    #
    # Reads the topic with `read_committed`: commits after the beginning of a transaction that is still open aren't seen. Needs
    # the right to read `__consumer_offsets`, which the embedded broker doesn't have. Stateless: each call has its own connection.
    # The class has the same methods, for the application's cluster.
    class Recovery
      # Records that this version can't decode may contain what was asked for.
      class UnknownRecordsError < StandardError
        include Error
      end

      # How many different ones a message lists.
      LISTED = 5
      COMMANDS = %i[offsets_partition_for coordinator_for affected_partitions affected_groups read_committed_offsets].freeze
      private_constant :LISTED, :COMMANDS

      class << self
        COMMANDS.each do |name|
          define_method(name) do |*arguments, **options|
            kafka, settings = Admin.application_connection
            new(kafka: kafka, **settings).public_send(name, *arguments, **options)
          end
        end
      end

      # @param kafka [Hash] librdkafka's properties
      # @param options as for {Admin#initialize}
      def initialize(kafka:, **options)
        @kafka = kafka
        @options = options
        timeout_ms = options.fetch(:timeout_ms, TIMEOUT_MS)
        @reader = TopicReader.new(kafka, timeout_ms: timeout_ms, token_provider: options[:token_provider])
      end

      # @param group [String]
      # @return [Integer] the partition of `__consumer_offsets` that has the group's commits
      def offsets_partition_for(group) = OffsetsRecord.partition_of(group, leaders.size)

      # @param group [String]
      # @return [Hash] `partition`, and the broker that leads it, which is the group's coordinator: `broker_id`, `broker_host`
      #   (`"host:port"`; nil while there is none)
      def coordinator_for(group)
        admin do |admin|
          leaders = leaders(admin)
          partition = OffsetsRecord.partition_of(group, leaders.size)
          broker = admin.cluster_info[:brokers].find { |one| one[:id] == leaders[partition] }
          {partition: partition, broker_id: leaders[partition], broker_host: broker&.values_at(:host, :port)&.join(":")}
        end
      end

      # @param broker_id [Integer]
      # @return [Array<Integer>] the partitions of `__consumer_offsets` that the broker leads: it coordinates their groups
      def affected_partitions(broker_id) = leaders.select { |_partition, leader| leader == broker_id }.keys

      # @param partition [Integer] of `__consumer_offsets`
      # @param last_committed_at [Time, nil] only commits since then; nil: all that there are, which can take minutes
      # @param ignore_unknown [Boolean] leave out records that can't be decoded
      # @return [Array<String>] the groups with commits in it, sorted
      # @raise [UnknownRecordsError] records that can't be decoded may be about other groups
      def affected_groups(partition, last_committed_at: nil, ignore_unknown: false)
        commits, unknown = scan(partition, last_committed_at)
        refuse(partition, unknown) unless unknown.empty? || ignore_unknown
        commits.keys.map(&:first).uniq.sort
      end

      # @param group [String]
      # @param last_committed_at [Time, nil] only commits since then; nil: all that there are, which can take minutes
      # @param ignore_unknown [Boolean] leave out records that can't be decoded
      # @return [Hash{String => Hash{Integer => Integer}}] by topic and partition, sorted: the last offset; deleted ones are left
      #   out
      # @raise [UnknownRecordsError] records that can't be decoded may be about the group
      def read_committed_offsets(group, last_committed_at: nil, ignore_unknown: false)
        partition = offsets_partition_for(group)
        commits, unknown = scan(partition, last_committed_at, group)
        refuse(partition, unknown) unless unknown.empty? || ignore_unknown
        commits.sort.group_by { |(_group, topic, _partition), _offset| topic }
          .transform_values { |rows| rows.to_h { |(_group, _topic, one), offset| [one, offset] } }
      end

      private

      # @return [Array(Hash, Hash)] the last offset by group, topic and partition; how many records of each kind are unknown
      def scan(partition, since, group = nil)
        commits = {}
        unknown = Hash.new(0)
        @reader.each(OffsetsRecord::TOPIC, partition, since || :earliest) do |message|
          found = OffsetsRecord.decode(message.raw_key, message.raw_payload)
          next if found.nil? || (group && found.group && found.group != group)

          found.is_a?(OffsetsRecord::Unknown) ? unknown[found.text] += 1 : note(commits, found)
        end
        [commits, unknown]
      end

      def note(commits, commit)
        key = [commit.group, commit.topic, commit.partition]
        commit.offset ? commits[key] = commit.offset : commits.delete(key)
      end

      def refuse(partition, unknown)
        kinds = unknown.first(LISTED).map { |text, count| "#{count} × #{text}" }.join("; ")
        raise UnknownRecordsError, "#{OffsetsRecord::TOPIC}/#{partition} has records that this version of Penstock doesn't " \
          "know: #{kinds}#{"; …" if unknown.size > LISTED}. The result could be incomplete; `ignore_unknown: true` leaves " \
          "them out"
      end

      # @return [Hash{Integer => Integer}] leaders by partition
      def leaders(admin = nil)
        return admin { |own| leaders(own) } unless admin

        admin.topic_info(OffsetsRecord::TOPIC)[:partitions].to_h { |one| one.values_at(:partition_id, :leader) }
      end

      def admin(&) = Admin.open(@kafka, **@options, &)
    end
  end
end
