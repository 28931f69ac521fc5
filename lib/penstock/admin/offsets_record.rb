# frozen_string_literal: true

module Penstock
  class Admin
    # Decodes records of `__consumer_offsets`, in which brokers store the commits of groups. The formats are Kafka's
    # (`OffsetCommitKey.json`, `OffsetCommitValue.json`, `CoordinatorRecordType`, up to Kafka 4.3). Records of another version
    # are unknown and aren't guessed. Stateless.
    module OffsetsRecord
      TOPIC = "__consumer_offsets"
      # Kinds of keys, by the number they begin with: commits, and those about members and groups.
      COMMITS = [0, 1].freeze
      OTHERS = [*2..8, *10..17, *19..23].freeze
      # Versions of values, with the bytes that each has at least. All begin with the offset.
      VALUES = {0 => 18, 1 => 26, 2 => 18, 3 => 22, 4 => 22}.freeze
      private_constant :COMMITS, :OTHERS, :VALUES

      # A commit; `offset` is nil where it was deleted.
      Commit = Struct.new(:group, :topic, :partition, :offset)
      # A record that can't be decoded, and the group it is about, if that is known.
      Unknown = Struct.new(:text, :group)

      class << self
        # @param key [String, nil]
        # @param value [String, nil]
        # @return [Commit, Unknown, nil] nil: it is about something else
        def decode(key, value)
          version = key&.unpack1("s>")
          return Unknown.new("a key without a version") unless version
          return if OTHERS.include?(version)
          return Unknown.new("a key of version #{version}") unless COMMITS.include?(version)

          group, topic, partition = names(key.byteslice(2..))
          return Unknown.new("a damaged key of version #{version}") unless partition

          commit(Commit.new(group, topic, partition), value)
        end

        # The partition of the topic that has a group's commits; its leader is the group's coordinator.
        #
        # @param group [String]
        # @param partitions [Integer] how many the topic has
        # @return [Integer]
        def partition_of(group, partitions)
          hash = group.encode(Encoding::UTF_16BE).unpack("n*").reduce(0) { |sum, unit| ((31 * sum) + unit) & 0xFFFFFFFF }
          hash -= 1 << 32 if hash >= 1 << 31 # Java's int
          ((hash == -(1 << 31)) ? 0 : hash.abs) % partitions
        end

        private

        # @return [Array(String, String, Integer), nil] nil unless that is all
        def names(bytes)
          group, bytes = text(bytes)
          topic, bytes = text(bytes) if bytes
          [group, topic, bytes.unpack1("l>")] if bytes&.bytesize == 4
        end

        def text(bytes)
          size = bytes.unpack1("s>")
          return if size.nil? || size.negative? || bytes.bytesize < size + 2

          [bytes.byteslice(2, size).force_encoding(Encoding::UTF_8), bytes.byteslice((size + 2)..)]
        end

        # A record without a value deletes the commit.
        def commit(commit, value)
          return commit if value.nil?

          version = value.unpack1("s>")
          smallest = VALUES[version]
          return Unknown.new("a value of version #{version.inspect} for #{place(commit)}", commit.group) unless smallest
          return Unknown.new("a damaged value for #{place(commit)}", commit.group) if value.bytesize - 2 < smallest

          commit.offset = value.byteslice(2, 8).unpack1("q>")
          commit
        end

        def place(commit) = "#{commit.group}, #{commit.topic}/#{commit.partition}"
      end
    end
  end
end
