# frozen_string_literal: true

require_relative "../kafka_cluster"

module Penstock
  module TestSupport
    # bin/kafka with several brokers: commands for a cluster that runs until somebody stops it.
    class ClusterCommand
      USAGE = <<~TEXT
        A cluster (data in tmp/kafka-cluster, or tmp/kafka-NAME with --name). A fault proxy is in front of each broker:
          bin/kafka start --brokers 3            starts it; it runs until bin/kafka stop
          bin/kafka status                       brokers, their addresses and memory
          bin/kafka stop                         ends all brokers (--keep: their data stays)
          bin/kafka heal                         removes all faults, starts what is down, waits until all replicas are in sync

        Faults of broker N:
          bin/kafka kill N | freeze N | stop N   kill -9; SIGSTOP; in order, after its leaders have moved
          bin/kafka start N | thaw N | restart N

        Leaders and coordinators:
          bin/kafka leaders [TOPIC]              which broker leads which partition
          bin/kafka lead TOPIC PARTITION N       makes broker N the leader
          bin/kafka elect                        preferred leaders lead again
          bin/kafka coordinator group|transaction NAME [N]   shows the coordinator, or moves it to broker N

        Faults of requests and connections, until bin/kafka proxy clear:
          bin/kafka proxy delay|drop|cut|hang_up|corrupt|lie|mute|double [name=value…]
              which: api=fetch side=request|response broker=N client=TEXT skip=N times=N permille=N
              how:   ms=N (delay), bytes=N (cut after N bytes, corrupt N bits, lie by N bytes)
          bin/kafka proxy link N [mode=open|down|frozen|swallow] [latency=MS] [rate=BYTES_PER_SECOND]
          bin/kafka proxy reset [broker=N] [client=TEXT]     resets open connections
          bin/kafka proxy stats | clear
      TEXT
      NODES = %w[kill stop freeze thaw start restart].freeze
      ACTIONS = [*NODES, "status", "heal", "leaders", "lead", "elect", "coordinator", "proxy"].freeze

      # Whether the words are for a cluster rather than for a single broker.
      #
      # @param brokers [Integer, nil] of the option
      def self.meant?(words, brokers, name)
        action, argument, = words
        return true if brokers || %w[heal leaders lead elect coordinator proxy].include?(action)
        return true if NODES.include?(action) && argument.to_s.match?(/\A\d+\z/)

        %w[stop status].include?(action) && !KafkaCluster.attach(name).nil?
      end

      def initialize(words, brokers:, name:, home:, keep: false)
        @action, *@arguments = words
        @brokers = brokers
        @name = name
        @home = home
        @keep = keep
      end

      # @return [Integer] the exit code
      def call
        return start_cluster if @action == "start" && @brokers
        return refuse("no cluster: bin/kafka start --brokers 3") unless cluster
        return stop_cluster if @action == "stop" && @arguments.empty?
        return refuse(USAGE) unless ACTIONS.include?(@action)

        NODES.include?(@action) ? node : public_send(@action, *@arguments)
        0
      ensure
        @cluster&.detach
      end

      # The commands, by their names.

      def status
        cluster.nodes.each_value do |node|
          mb = node.process&.alive? ? node.process.rss / 1_048_576 : 0
          puts format("broker %d  %-8s pid %-8s %4d MB  127.0.0.1:%d, without the proxy :%d", node.id, node.state,
            node.process&.pid, mb, *node.ports.values_at(:public, :internal))
        end
        cluster.proxy.stats.fetch(:links).each { |link| puts "link #{link.number}    #{link.mode}, #{link.open} connections" }
      end

      def heal = cluster.heal

      def leaders(topic = nil)
        admin do |one|
          names = topic ? [topic] : one.topics(internal: true).keys
          names.each do |name|
            rows = one.topic_info(name).fetch(:partitions)
            puts "#{name}: #{rows.map { |row| "#{row[:partition_id]}→#{row[:leader]}" }.join(" ")}"
          end
        end
      end

      def lead(topic, partition, broker) = cluster.move_leader(topic, Integer(partition), to: Integer(broker))
      def elect = cluster.elect_preferred

      def coordinator(kind, name, broker = nil)
        case [kind, broker.nil?]
        when ["group", true] then puts cluster.coordinator(name)
        when ["transaction", true] then puts cluster.transaction_coordinator(name)
        when ["group", false] then cluster.move_coordinator(name, to: Integer(broker))
        when ["transaction", false] then cluster.move_transaction_coordinator(name, to: Integer(broker))
        else raise KafkaCluster::Error, "bin/kafka coordinator group|transaction NAME [N], not #{kind}"
        end
      end

      def proxy(action, *words)
        proxy = cluster.proxy
        settings = words.grep(/=/).to_h { |word| word.split("=", 2) }.to_h { |name, value| [name.to_sym, value_of(value)] }
        case action
        when "stats" then puts proxy.stats.fetch(:links), proxy.stats.fetch(:rules).map { |rule, hits| "#{rule}: #{hits}" }
        when "clear" then proxy.clear
        when "reset" then puts proxy.reset(**settings)
        when "link" then proxy.link(Integer(words.first), **settings)
        when "delay" then puts proxy.delay(settings.delete(:ms) || 1_000, **settings)
        when "cut", "corrupt", "lie" then puts proxy.public_send(action, settings.delete(:bytes) || 1, **settings)
        when "drop", "hang_up", "mute", "double" then puts proxy.public_send(action, **settings)
        else raise KafkaCluster::Error, "the fault proxy has no #{action}\n#{USAGE}"
        end
      end

      private

      def cluster = @cluster ||= KafkaCluster.attach(@name)

      def refuse(text)
        warn text
        64
      end

      def start_cluster
        made = KafkaCluster.new(name: @name, brokers: @brokers, home: @home, owned: false)
        made.start
        puts "Kafka runs on #{made.bootstrap_servers} (without the fault proxy #{made.direct_servers}), data in #{made.folder}"
        0
      end

      def stop_cluster
        cluster.close(keep: @keep)
        puts "Kafka's cluster stopped"
        0
      end

      def node
        id = Integer(@arguments.first)
        raise KafkaCluster::Error, "there is no broker #{id}: #{cluster.nodes.keys.join(", ")}" unless cluster.nodes.key?(id)

        case @action
        when "kill" then cluster.kill(id)
        when "stop" then cluster.stop_node(id)
        when "freeze" then cluster.freeze_node(id)
        when "thaw" then cluster.thaw(id)
        when "start" then cluster.start_node(id)
        when "restart" then cluster.restart(id)
        end
        puts "broker #{id}: #{cluster.nodes.fetch(id).state}"
      end

      def value_of(text)
        return Integer(text) if text.match?(/\A-?\d+\z/)
        text.match?(/\A[a-z_]+\z/) ? text.to_sym : text
      end

      # Penstock's own admin client, which needs no start.
      def admin(&)
        $LOAD_PATH.unshift(File.expand_path("../../../lib", __dir__))
        require "penstock/admin"
        Admin.open({"bootstrap.servers": cluster.direct_servers}, &)
      end
    end
  end
end
