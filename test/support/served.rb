# frozen_string_literal: true

require "json"
require_relative "command_line"
require_relative "delivering"
require_relative "started"
require_relative "wait"

module Penstock
  module TestSupport
    # Runs `penstock server` and similar commands in processes of their own, each with a log. Included after
    # {CommandLine}, in classes with an embedded broker (`cluster`).
    module Served
      include Delivering
      include Started

      # The consumers' records name what to do, and the consumers record what they did.
      BOOT_FILE = <<~'RUBY'
        require "json"
        require "penstock"
        class Work < Penstock::BaseConsumer
          def consume
            messages.each do |message|
              say "begin #{message.raw_payload}"
              act(message.raw_payload)
              say "end #{message.raw_payload}"
            end
          end

          def shutdown = puts("shutdown hook")

          private

          def say(text) = ENV["JOURNAL"] ? File.write(ENV["JOURNAL"], "#{text}\n", mode: "a") : puts(text)

          def await_release
            sleep(0.01) until File.exist?("release")
          end

          def act(payload)
            await_release if payload == "held"
            raise SystemExit if payload == "critical"
            Thread.handle_interrupt(Exception => :never) { loop { sleep(1) } } if payload == "stubborn"
          end
        end
        class PenstockApp < Penstock::App
          setup do |config|
            config.client_id = "served"
            config.group_id = ENV.fetch("GROUP")
            config.kafka = JSON.parse(ENV.fetch("KAFKA"), symbolize_names: true)
            config.flight_recorder_path = "."
            config.shutdown_timeout = Integer(ENV.fetch("SHUTDOWN_TIMEOUT", "60000"))
          end
          routes.draw { topic(ENV.fetch("TOPIC")) { consumer Work; assign(true) if ENV["ASSIGN"]; instance_eval(ENV["TOPIC_SAYS"].to_s) } }
        end
        eval(ENV["MORE"]) if ENV["MORE"]
      RUBY

      # One process. Ends only what it started.
      class Process
        include Wait

        # @return [Integer]
        attr_reader :pid

        # @param command [Array<String>]
        # @param dir [String]
        # @param env [Hash{String => String, nil}]
        # @param options [Hash] of `spawn`
        def initialize(command, dir:, env:, **options)
          @path = File.join(dir, "log-#{rand(1 << 40)}")
          @journal = env["JOURNAL"]
          options = {:chdir => dir, :in => File::NULL, %i[out err] => [@path, "a"], **options}
          @pid = hearing_hup { ::Process.spawn(env, *command, **options) }
        end

        # Under `nohup` SIGHUP would be ignored there, too.
        def hearing_hup
          before = Signal.trap("HUP", "DEFAULT")
          yield
        ensure
          Signal.trap("HUP", before || "DEFAULT")
        end

        def log = File.exist?(@path) ? File.read(@path) : ""
        # @return [String] what consumers wrote to the journal, if they have one instead of the log
        def journal = File.exist?(@journal.to_s) ? File.read(@journal) : ""

        def signal(name, pid = @pid) = ::Process.kill(name, pid)
        def await(what, deadline = 40) = wait_until(deadline, what, state: -> { tail }, every: 0.02) { yield }
        def await_log(pattern, times = 1) = await("#{pattern.inspect} in its log") { log.scan(pattern).size >= times }
        def ended? = !status.nil?

        # @return [Process::Status]
        def await_end(deadline = 40) = await("its end", deadline) { status }

        # @return [Integer, nil] exit code
        def code(deadline = 40) = await_end(deadline).exitstatus

        # Kills the process if it runs.
        def close
          signal(:KILL) unless ended?
          await_end
        end

        def tail = log.lines.last(40).join

        private

        def status = @status ||= ::Process.wait2(@pid, ::Process::WNOHANG)&.last
      end

      def setup
        super
        write("penstock.rb", BOOT_FILE)
        @topic = "t#{rand(1 << 40)}"
        cluster.create_topic(@topic, partitions: 2)
      end

      def cluster = self.class.cluster

      # @param arguments [Array<String>] of `penstock`
      # @param env [Hash{String => Object}] in addition to what all have
      # @param options [Hash] of `spawn`
      def serve(*arguments, env: {}, before: [], **options)
        command = [*before, RbConfig.ruby, CommandLine::EXECUTABLE, *arguments]
        common = {"GROUP" => "g#{rand(1 << 40)}", "TOPIC" => @topic, "KAFKA" => JSON.generate(cluster.kafka), "ASSIGN" => "1"}
        env = checked(common.merge(env.transform_values { |value| value&.to_s }))
        started(Process.new(command, dir: @dir, env: env, **options))
      end

      # For the environment: consumers write elsewhere than to standard output.
      def journal = {"JOURNAL" => File.join(@dir, "journal")}

      # A server with a journal; it consumes what is produced, and a stop ends it in order.
      def assert_works(server, payload = "x")
        produce(payload)
        server.await("#{payload} done") { server.journal.include?("end #{payload}\n") }
        server.signal(:TERM)
        assert_equal 0, server.code, server.tail
      end

      # Lets jobs with the record "held" end.
      def release = write("release", "")

      def produce(*payloads, partition: 0)
        deliver(cluster.kafka, payloads.map { |payload| {topic: @topic, payload: payload, partition: partition} })
      end
    end
  end
end
