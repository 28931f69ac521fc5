# frozen_string_literal: true

require "json"
require "rbconfig"
require "securerandom"
require_relative "../deadline"
require_relative "../errors"
require_relative "../native/embedded_control_client"
require_relative "client_settings"

module Penstock
  # Tools for tests of applications. Never loaded by a running application.
  module Testing
    # An embedded broker for tests: an in-memory Kafka in a process of its own.
    #
    #     cluster = Penstock::Testing::Cluster.start(topics: { "orders" => 6 })
    #     config.kafka = cluster.kafka
    #     …
    #     cluster.stop
    #
    # The process ends with the one that started it, however that ends. It stores records in memory only: a partition
    # keeps its newest 5 MiB or 100,000 batches, see `docs/embedded_broker.md`. Methods may be called from any thread;
    # only the process that started a cluster stops it, a forked child can continue to use it.
    class Cluster
      START_MS = 15_000
      STOP_MS = 5_000
      # Settings for clients of this broker.
      SETTINGS = ClientSettings::ALL
      private_constant :START_MS, :STOP_MS

      # Starts a broker and returns when it listens. With a block: stops it afterwards and returns the block's value.
      #
      # @param topics [Hash{String=>Integer}, Array<String>] created at the start: name and number of partitions, or
      #   names only. Topics created by their first use always have 4 partitions: librdkafka's mock has a fixed number,
      #   so list the topics for which it matters
      # @param partitions [Integer] of topics named without a number, here and in {#create_topic}
      # @param brokers [Integer] 1 to 64
      # @param port [Integer] port of the broker; 0 for a free one
      # @return [Cluster]
      # @raise [WaitTimeoutError] it doesn't start; the message contains its output
      def self.start(topics: {}, partitions: 1, brokers: 1, port: 0)
        cluster = new(topics: topics, partitions: partitions, brokers: brokers, port: port)
        return cluster unless block_given?

        begin
          yield cluster
        ensure
          cluster.stop
        end
      end

      # @return [String] `127.0.0.1:port`, more than one with more brokers
      attr_reader :bootstrap_servers
      # @return [Integer] of the broker's process
      attr_reader :pid

      def initialize(topics: {}, partitions: 1, brokers: 1, port: 0)
        @owner = ::Process.pid
        @partitions = partitions
        topics = topics.to_h { |name, number| [name, number || partitions] }
        spawn_broker(JSON.generate(topics: topics, brokers: brokers, port: port))
        facts = JSON.parse(first_line)
        @bootstrap_servers = facts.fetch("bootstrap_servers")
        @control = Native::EmbeddedControlClient.new("127.0.0.1", facts.fetch("control_port"))
      rescue
        stop
        raise
      end

      # The settings for clients of this broker.
      #
      # @param group_protocol [:classic, :consumer] a member of a KIP-848 group gets its times from the broker
      # @return [Hash{Symbol=>Object}] for `config.kafka`
      def kafka(group_protocol: :classic)
        settings = {"bootstrap.servers": bootstrap_servers, **SETTINGS}
        return settings if group_protocol == :classic

        settings.except(:"session.timeout.ms", :"heartbeat.interval.ms").merge("group.protocol": "consumer")
      end

      # @param partitions [Integer]
      # @param replication_factor [Integer] at most the number of brokers
      # @raise [KafkaError] `:topic_already_exists`
      def create_topic(name, partitions: @partitions, replication_factor: 1)
        request(:create, topic: name, partitions: partitions, replication_factor: replication_factor)
      end

      # Creates a topic for one test among many that share the cluster.
      # @param name [String, Symbol] its beginning
      # @param partitions [Integer]
      # @return [String] its name, which no other test has
      def unique_topic(name = "topic", partitions: @partitions)
        unique = "#{name}-#{SecureRandom.hex(4)}"
        create_topic(unique, partitions: partitions)
        unique
      end

      # @raise [KafkaError] `:unknown_topic_or_part`
      def delete_topic(name)
        request(:delete, topic: name)
      end

      # @return [Hash{String=>Integer}] topics and their number of partitions
      def topics
        request(:list)
      end

      # @return [Hash{Integer=>Hash}] by partition: "leader", "low", "high"
      def describe_topic(name)
        request(:describe, topic: name).transform_keys(&:to_i)
      end

      # The next requests of this kind are answered with these errors, one each.
      #
      # @param api [Symbol] `:produce`, `:fetch`, `:offset_commit`, `:join_group`, …
      # @param errors [Array<Symbol, Integer>] names as in {KafkaError#code}; 0 for "no error this time"
      # @param broker [Integer, nil] only requests to this broker
      # @param rtt_ms [Integer, nil] delay of each of these answers
      def inject_errors(api, errors, broker: nil, rtt_ms: nil)
        request(:errors, api: api, errors: errors, broker: broker, rtt_ms: rtt_ms)
      end

      # Discards injected errors of this kind that haven't been used yet.
      def clear_errors(api)
        request(:clear_errors, api: api)
      end

      # @param error [Symbol, Integer, nil] error of the topic in metadata; nil: no error any more
      def topic_error(name, error)
        request(:topic_error, topic: name, error: error)
      end

      # @param rtt_ms [Integer] delay of every answer
      # @param broker [Integer, nil] only this broker; nil: all
      def set_rtt(rtt_ms, broker: nil)
        request(:rtt, rtt_ms: rtt_ms, broker: broker)
      end

      # Takes brokers off the network and back on; records and groups are kept.
      # @param broker [Integer, nil] this one; nil: all
      def broker_down(broker = nil)
        request(:broker_down, broker: broker)
      end

      # @see #broker_down
      def broker_up(broker = nil)
        request(:broker_up, broker: broker)
      end

      # Deletes records as retention does.
      # @param before_offset [Integer] the first offset that stays
      def delete_records(topic, partition, before_offset)
        request(:delete_records, topic: topic, partition: partition, before_offset: before_offset)
      end

      # Any other command of the control socket.
      # @return [Object] the parsed JSON
      def request(command, **arguments)
        @control.request(command, **arguments.compact)
      end

      # @return [Boolean]
      def running?
        return false unless @pid

        (::Process.pid == @owner) ? ::Process.wait(@pid, ::Process::WNOHANG).nil? : true
      rescue Errno::ECHILD
        false
      end

      # Ends the broker and waits for it. Does nothing the second time, or in a forked child.
      def stop
        return unless @pid && ::Process.pid == @owner

        [@alive, @output, @errors].compact.each { |stream| stream.close unless stream.closed? }
        reap
        @pid = nil
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{@pid ? "#{bootstrap_servers} pid=#{pid}" : "stopped"}>"
      end

      private

      # Standard input ties the broker to this process: its other end closes when this process ends in any way. The
      # broker has a process group of its own, so that Ctrl-C in a terminal reaches only the application, which may need
      # its broker while it stops.
      def spawn_broker(options)
        input, @alive = IO.pipe
        @output, output = IO.pipe
        @errors, errors = IO.pipe
        script = File.expand_path("broker_process.rb", __dir__)
        @pid = spawn(*ruby, script, options, in: input, out: output, err: errors, pgroup: true)
        [input, output, errors].each(&:close)
      end

      # Without RubyGems and Bundler it starts in a tenth of a second. The folders of the load path that contain
      # Penstock are passed on, because its extension may be in another one.
      def ruby
        folders = $LOAD_PATH.map(&:to_s).select { |folder| File.directory?(File.join(folder, "penstock")) }
        [RbConfig.ruby, "--disable=gems,rubyopt", *folders.map { |folder| "-I#{folder}" }]
      end

      def first_line
        deadline = Deadline.in(START_MS)
        line = +""
        until line.end_with?("\n")
          @output.wait_readable(deadline.remaining_ms / 1000.0) or raise WaitTimeoutError, "the embedded broker timed out"
          line << @output.readpartial(4_096)
        end
        line
      rescue EOFError
        raise WaitTimeoutError, "the embedded broker ended at once: #{@errors.read.strip}"
      end

      def reap
        waiter = ::Process.detach(@pid)
        return if waiter.join(STOP_MS / 1000.0)

        ::Process.kill(:KILL, @pid)
        waiter.join
      rescue Errno::ESRCH
        nil # it has ended in the meantime
      end
    end
  end
end
