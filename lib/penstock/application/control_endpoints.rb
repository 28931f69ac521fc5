# frozen_string_literal: true

require_relative "../errors"
require_relative "../runtime/threads"
require_relative "service_manager_notifier"

module Penstock
  class Application
    # Opens and closes the endpoints of a running application: the control socket of the command line, the health page for
    # probes, and the notifications of a service manager. Owned by the application; opened on the thread that runs it, each with
    # a thread of its own; closed when it ends. A node of a swarm has none of them: its supervisor does.
    class ControlEndpoints
      # Addresses that can only be reached from this machine, or this pod.
      LOOPBACK = /\A(?:127\.|::1\z|localhost\z)/
      private_constant :LOOPBACK

      # @param config [#call] returns {Config::Settings}
      # @param vitals [#call] returns what the health page shows
      # @param commands [#call] returns the commands of the control socket by name
      # @param log [#call] returns the logger
      # @param monitor [#call] returns {Instrumentation::Monitor}
      # @param metrics [#call] returns the text of the page `/metrics`; called only with `config.metrics`
      def initialize(config:, vitals:, commands:, log:, monitor:, metrics: -> {})
        @config = config
        @vitals = vitals
        @commands = commands
        @log = log
        @monitor = monitor
        @metrics = metrics
        @controllable = false
        @endpoints = nil
      end

      # From now on {#open} also opens the control socket.
      def enable_control_socket = @controllable = true

      # Keeps the endpoints open while the block runs.
      # @param notify [Boolean] whether to notify a service manager, if the environment names one
      # @raise [ConfigurationError] the health page's address can't be listened on
      def open(notify:)
        return yield if config.node
        @endpoints = []
        @endpoints << control
        @endpoints << health_page
        @endpoints << ServiceManagerNotifier.start(vitals: @vitals, log: log, threads: threads, monitor: @monitor.call) if notify
        yield
      ensure
        @endpoints&.each { |endpoint| endpoint&.close }
        @endpoints = nil
      end

      # In the child of a fork: closes descriptors without affecting the parent, which still serves them.
      def forget
        @endpoints&.each { |endpoint| endpoint&.forget }
        @endpoints = nil
      end

      private

      def config = @config.call
      def log = @log.call

      def control
        return unless @controllable
        require_relative "../server/control"
        Server::Control.new(@commands.call).start(threads)
      rescue SystemCallError, ArgumentError => error # the latter if the path is too long for a socket
        log.warn("`penstock status` and similar commands can't reach this process: #{error.message}. Set " \
          "PENSTOCK_RUN_DIR, here and for the commands, to a folder with a short path that this user can write to")
        nil
      end

      def health_page
        port = config.health.port or return mention_metrics
        require_relative "../server/health_page"
        mention_loopback
        Server::HealthPage.new(config.health.host, port, @vitals, (@metrics if config.metrics)).start(threads)
      rescue SystemCallError, SocketError => error
        raise ConfigurationError.new([Problem.new("config.health.port", "(#{port}) can't be listened on: #{error.message}",
          "Another process uses it, or config.health.host (#{config.health.host}) isn't an address of this machine")])
      end

      def mention_metrics
        return unless config.metrics
        log.info("config.metrics is true, but nothing answers `GET /metrics`: set config.health.port, or let code of the " \
          "application show what `metrics` of the application returns")
        nil
      end

      # kubelet probes a pod at its address; it would kill one that listens on loopback only, reporting "connection refused".
      def mention_loopback
        return if ENV["KUBERNETES_SERVICE_HOST"].to_s.empty? || !LOOPBACK.match?(config.health.host)
        log.info("the health page listens on #{config.health.host}: Kubernetes probes by httpGet or tcpSocket come from " \
          "outside of the pod and can't reach it. For these, set config.health.host = \"0.0.0.0\" (IPv6: \"::\")")
      end

      def threads
        Runtime::Threads.new(lambda do |name, error|
          @monitor.call.instrument("error.occurred", {type: "worker.process.error", error: error, thread: name})
        end)
      end
    end
  end
end
