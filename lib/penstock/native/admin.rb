# frozen_string_literal: true

require_relative "../clock"
require_relative "../native"
require_relative "handles"

module Penstock
  module Native
    # A handle for administration, built on librdkafka: takes and returns plain rows, one broker request per call.
    #
    # Many threads may use it at once; each call waits for its own answer, takes a timeout in ms, and can be interrupted
    # (`Thread#kill`, `Timeout`, signals). {#close} ends calls that wait. Open it for a few calls and close it again: while
    # open, it keeps connections and librdkafka's threads alive. Defined in the extension:
    #
    # * `create_topics([[name, partitions, replication_factor, config], …], timeout_ms, validate_only = false)`,
    #   `delete_topics(names, timeout_ms)`, `create_partitions([[name, total], …], timeout_ms)` → rows of
    #   `[name, error number (0: done), message or nil]`
    # * `describe_configs([[type, name], …], timeout_ms)`, `alter_configs([[type, name, [[operation, setting, value], …]], …],
    #   timeout_ms, validate_only = false)` → `[type, name, error number, message or nil, entries]`
    # * `metadata(topic or nil, timeout_ms)`, `list_offsets(rows, timeout_ms, read_committed = false)`
    # * `delete_records([[topic, partition, offset], …], timeout_ms)` → `[topic, partition, first offset, error number]`
    # * `list_groups(timeout_ms)`, `describe_groups(names, timeout_ms, with_operations = false)`,
    #   `delete_groups(names, timeout_ms)`
    # * `alter_group_offsets(group, [[topic, partition, offset, metadata, leader_epoch], …], timeout_ms)`,
    #   `delete_group_offsets(group, [[topic, partition], …], timeout_ms)` → `[topic, partition, offset, error number]`
    # * `closed?`, `state`, `pid`, `name`, `set_token(token, expires_at_ms, principal, extensions)`
    class Admin
      # Special values for the time in {#list_offsets}: the first offset, the end, the record with the latest time.
      EARLIEST = -2
      LATEST = -1
      MAX_TIMESTAMP = -3

      # Numbers of the kinds of resources that have settings.
      RESOURCES = {topic: 2, group: 3, broker: 4}.freeze
      # Numbers of what {#alter_configs} does with a setting.
      CONFIG_OPERATIONS = {set: 0, delete: 1, append: 2, subtract: 3}.freeze

      PATCHED = Native.patched?
      # The part of a token's lifetime after which a new one is needed, as in librdkafka.
      TOKEN_USE = 0.8
      private_constant :PATCHED, :TOKEN_USE

      # @param conf [Hash{String=>String}] librdkafka's properties
      # @raise [KafkaError] `:invalid_arg` when librdkafka refuses them
      def initialize(conf)
        @conf = conf
        @readers = []
        @lock = Mutex.new
        @token_due_ms = 0
        connect(conf.except("group.id"))
        Handles.opened(self)
      end

      # Reads the offsets that a group has committed.
      #
      # @param rows [Array<(String, Integer)>, nil] topic and partition; nil for everything the group has committed
      # @param require_stable [Boolean] report offsets of open transactions as an error of their row
      # @return [Array<Array>] topic, partition, offset (-1001: none), metadata or nil (binary), leader epoch, error number
      # @raise [KafkaError]
      def committed_offsets(group, rows, timeout_ms, require_stable = false)
        return [] if rows && rows.empty?

        _, number, message, found = groups_offsets([[group, rows]], timeout_ms, require_stable).first
        raise Native.error_for(number, "group #{group}", message) unless number.zero?

        found
      end

      # The same for many groups; all requests are in flight at the same time. Without our patches each group has a handle of its
      # own, opened as a member of that group would open it (it doesn't join): librdkafka 2.16.0 treats the answer "not
      # coordinator" as one about the handle's own group, and a handle without a group crashes (rdkafka_request.c:1377).
      #
      # @param groups [Array<(String, Array, nil)>] a group, and the rows of {#committed_offsets}
      # @return [Array<(String, Integer, String, Array)>] group, error number, message or nil, rows
      def groups_offsets(groups, timeout_ms, require_stable = false)
        return group_offsets(groups, timeout_ms, require_stable) if PATCHED

        groups.flat_map { |group| over_own_handle(group, timeout_ms, require_stable) }
      end

      # Ends calls that wait in other threads: they raise {HandleClosedError}. May be called more than once.
      def close
        readers = @lock.synchronize { @readers.dup }
        readers.each(&:close)
        disconnect
      end

      # @return [(Integer, Integer)] first offset and end of a partition
      # @raise [KafkaError]
      def watermarks(topic, partition, timeout_ms)
        [EARLIEST, LATEST].map do |spec|
          *, offset, _, _, number = list_offsets([[topic, partition, spec]], timeout_ms).first
          raise Native.error_for(number, "#{topic}/#{partition}") unless number.zero?

          offset
        end
      end

      # @param rows [Array<(String, Integer, Integer)>] topic, partition, time in ms
      # @return [Array<(String, Integer, Integer, Integer)>] topic, partition, the first offset whose time isn't before
      #   the one asked for (-1: there is none), error number
      def offsets_for_times(rows, timeout_ms)
        list_offsets(rows, timeout_ms).map { |topic, partition, offset, *, number| [topic, partition, offset, number] }
      end

      # @return [String, nil] nil for brokers too old to report one
      def cluster_id(timeout_ms)
        metadata(nil, timeout_ms)[:cluster_id]
      end

      # @return [Integer] when a token is needed, by the monotonic clock in ms: 0 as long as none was set, then when 80 % of the
      #   last one's lifetime have passed
      attr_reader :token_due_ms

      # Sets a SASL/OAUTHBEARER token. An admin handle doesn't request one: set it before the first call, and again when it is
      # due, see {#token_due_ms}.
      #
      # @param lifetime_ms [Integer] when it expires, in milliseconds since 1970
      # @param extensions [Hash{String=>String}, nil]
      def oauthbearer_set_token(token:, lifetime_ms:, principal_name:, extensions: nil)
        arguments = [token, lifetime_ms, principal_name, extensions.to_a.flatten.map(&:to_s)]
        set_token(*arguments)
        @token = arguments
        @token_due_ms = Clock::SYSTEM.monotonic_ms + Integer((lifetime_ms - Clock::SYSTEM.wall_ms) * TOKEN_USE)
      end

      # @param reason [String]
      # @raise [KafkaError] no call can be made without a token
      def oauthbearer_set_token_failure(reason)
        raise Native.error_for(Native.error_number(:authentication), "OAuth token: #{reason}")
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{state}>"
      end

      # The handle of one group.
      class GroupReader < self
        def initialize(conf, group, token)
          connect(conf.merge("group.id" => group))
          set_token(*token) if token
        rescue KafkaError
          disconnect
          raise
        end

        def close
          disconnect
        end

        public :group_offsets
      end
      private_constant :GroupReader

      private

      def over_own_handle(group, timeout_ms, require_stable)
        reader = GroupReader.new(@conf, group.first, @token)
        @lock.synchronize { closed? ? raise(HandleClosedError, "the admin is closed: open a new one") : @readers << reader }
        reader.group_offsets([group], timeout_ms, require_stable)
      ensure
        reader&.close
        @lock.synchronize { @readers.delete(reader) }
      end
    end
  end
end
