# frozen_string_literal: true

require "socket"
require_relative "known_process"
require_relative "tools"

module Penstock
  module TestSupport
    # The proxy in front of the brokers of a test cluster, a process of its own (proxy/main.c), and its control
    # connection. Rules select single requests and responses and what happens to them; a link, the connection to one
    # broker, can be taken down, frozen or slowed. Any thread may use it.
    #
    #     rule = proxy.drop(api: :find_coordinator, side: :response, broker: 2, times: 3)
    #     proxy.hits(rule)
    #     proxy.remove(rule)
    #     proxy.link(2, latency: 50)
    #     proxy.reset(client: "billing")
    class FaultProxy
      # Requests of clients, by their API key on the wire.
      APIS = {
        produce: 0, fetch: 1, list_offsets: 2, metadata: 3, offset_commit: 8, offset_fetch: 9, find_coordinator: 10,
        join_group: 11, heartbeat: 12, leave_group: 13, sync_group: 14, describe_groups: 15, list_groups: 16, api_versions: 18,
        create_topics: 19, delete_topics: 20, init_producer_id: 22, offset_for_leader_epoch: 23, add_partitions_to_txn: 24,
        add_offsets_to_txn: 25, end_txn: 26, txn_offset_commit: 28, describe_cluster: 60, consumer_group_heartbeat: 68
      }.freeze
      MODES = %i[open waiting down frozen swallow].freeze

      # The state of one link; frames and bytes of requests, then of responses.
      Link = Struct.new(:number, :mode, :open, :accepted, :requests, :responses, :request_bytes, :response_bytes)

      class Error < StandardError; end

      attr_reader :control_port
      # @return [KnownProcess, nil]
      attr_accessor :process

      # @param control_port [Integer]
      # @param links [Hash{Integer => (Integer, Integer)}] by broker: the port that clients know, and the broker's own
      # @param log [String] a file that gets a line for each fault
      def initialize(control_port:, links:, log:, env: {})
        @control_port = control_port
        @links = links
        @log = log
        @env = env
        @lock = Mutex.new
        @rules = 0
      end

      def start
        arguments = @links.map { |number, (port, target)| "#{number}:#{port}:#{target}" }
        pid = ::Process.spawn(@env, ClusterTools.proxy, @control_port.to_s, *arguments, :in => File::NULL,
          %i[out err] => [@log, "a"], :pgroup => true)
        @process = KnownProcess.new(pid)
        Wait.wait_until(10, "the fault proxy", state: -> { File.read(@log) }) { answers? }
      end

      # Each of the following methods adds a rule. It applies to frames that match: `api:` (a key of APIS or a number;
      # default all), `side:` (:request, :response), `broker:`, `client:` (a part of the client id), `skip:` (how many
      # are left alone first), `times:` (how many are affected), `permille:` (the share of those that match).
      #
      # @return [String] the rule's name, for {#hits} and {#remove}
      def delay(ms, **which) = rule("delay", ms: ms, **which)

      # The frame never arrives; the connection stays.
      def drop(**which) = rule("drop", **which)

      # The connection is reset in the middle of the frame: after that many of its bytes, the length included.
      def cut(bytes = 0, **which) = rule("reset", bytes: bytes, **which)

      # The connection is closed in order before the frame.
      def hang_up(**which) = rule("close", **which)

      # Bits of the frame are flipped.
      # @param count [Integer] how many, up to 16
      # @param head [Boolean] also among the first bytes, which identify the frame
      # @param text [String, nil] only in these bytes, once per occurrence: to stay within what a checksum covers
      def corrupt(count = 1, head: false, text: nil, **which)
        rule("corrupt", bytes: count, head: head ? 1 : 0, **{text: text}.compact, **which)
      end

      # The answer to a ProduceRequest names an error, though the broker has written the records.
      # @param code [Integer] Kafka's number of the error
      # @param topic [String] the topic whose first partition in the answer gets the error
      def fail(code, topic:, **which) = rule("fail", api: :produce, side: :response, code: code, text: topic, **which)

      # The frame declares a longer or shorter length than it has.
      def lie(bytes, **which) = rule("lie", bytes: bytes, **which)

      # From this frame on nothing passes on its connection in its direction.
      def mute(**which) = rule("mute", **which)

      # The frame is sent twice.
      def double(**which) = rule("twice", **which)

      def remove(rule) = order("unrule", rule)

      # @return [Integer] how many frames a rule has affected
      def hits(rule) = stats.fetch(:rules).fetch(rule)

      # @param broker [Integer]
      # @param settings [Hash] `mode:` (one of MODES), `latency:` (ms, each direction), `rate:` (bytes per second and
      #   direction; 0: no limit)
      def link(broker, **settings) = order("link", broker, *pairs(settings))

      # Resets connections that are open now.
      # @param broker [Integer, nil] nil: all
      # @param client [String, nil] a part of their client id
      # @return [Integer] how many
      def reset(broker: nil, client: nil) = Integer(order("reset", broker || "*", *client))

      # Seeds the random choices, so that they can be repeated.
      def seed(number) = order("seed", number)

      # Removes all rules, and delays and limits of all links. A link that is down or waits for its broker stays so.
      def clear
        order("unrule", "*")
        stats.fetch(:links).each do |link|
          mode = %i[frozen swallow].include?(link.mode) ? {mode: "open"} : {}
          link(link.number, latency: 0, rate: 0, **mode)
        end
      end

      # @return [Hash] `links` (Array<Link>), `rules` (Hash{String => Integer} of hits)
      def stats
        words = order("stats").split
        links = words.grep(/\Alink=/).map do |word|
          number, mode, *counts = word.delete_prefix("link=").split(",")
          Link.new(Integer(number), mode.to_sym, *counts.map { |count| Integer(count) })
        end
        rules = words.grep(/\Arule=/).to_h { |word| word.delete_prefix("rule=").split(",") }
        {links: links, rules: rules.transform_values(&:to_i)}
      end

      def stop
        @lock.synchronize { @socket&.close }
        @process&.end_within(5)
      end

      # Closes the control connection; the proxy continues.
      def disconnect = @lock.synchronize { @socket = @socket&.close }

      private

      def rule(action, api: nil, broker: nil, side: :request, **options)
        name = "#{action}-#{@rules += 1}"
        number = api.nil? ? "*" : APIS.fetch(api, api)
        order("rule", name, "do=#{action}", *pairs(api: number, link: broker || "*", side: side, **options))
        name
      end

      def pairs(settings) = settings.compact.map { |name, value| "#{name}=#{value}" }

      # One command, one answer; threads take turns.
      def order(*words)
        answer = @lock.synchronize do
          @socket ||= Socket.tcp("127.0.0.1", @control_port, connect_timeout: 2)
          @socket.puts(words.join(" "))
          @socket.gets
        end
        raise Error, "the fault proxy has ended" unless answer
        raise Error, "the fault proxy refuses #{words.join(" ")}: #{answer}" unless answer.start_with?("ok")

        answer.chomp.delete_prefix("ok").strip
      end

      def answers?
        stats && true
      rescue SystemCallError
        raise Error, "the fault proxy has ended:\n#{File.read(@log)}" unless @process.alive?
      end
    end
  end
end
