# frozen_string_literal: true

require "json"
require_relative "known_process"
require_relative "tools"

module Penstock
  module TestSupport
    # Kafka's own admin client and consumer (Agent.java) in another process, so that their answers don't depend on
    # Penstock. Any thread may call it; a thread of its own reads the answers. Ends with {#close}, or with the process
    # that started it.
    class ClusterAgent
      JVM = %w[-Xms32m -Xmx160m].freeze
      SECONDS = 60

      class Error < StandardError; end

      # @param home [String] KAFKA_HOME
      # @param servers [String] brokers' addresses without the proxy
      # @param log [String] file for its standard error
      def initialize(home:, servers:, log:, env: {})
        @in, @writer = IO.pipe
        @reader, @out = IO.pipe
        classes = [ClusterTools.java_classes(home), File.join(home, "libs/*")].join(":")
        pid = ::Process.spawn(env, "java", *ClusterTools::JVM, *JVM, "-cp", classes, "Agent", servers,
          in: @in, out: @out, err: [log, "a"], pgroup: true)
        [@in, @out].each(&:close)
        @process = KnownProcess.new(pid)
        @lock = Mutex.new
        @answered = ConditionVariable.new
        @answers = {}
        @count = 0
        @thread = Thread.new { read }
      end

      # @param name [Symbol] a call of Agent.java
      # @param seconds [Numeric] limit for the answer
      # @return the answer, of JSON's types
      # @raise [Error] with the class and message of Java's error
      def call(name, seconds: SECONDS, **arguments)
        id = @lock.synchronize { @count += 1 }
        @writer.puts(JSON.generate(id: id, call: name, **arguments))
        answer = await(id, seconds) or raise Error, "#{name} #{arguments}: no answer within #{seconds} s"
        raise Error, "#{name}: #{answer["error"]}" if answer["error"]

        answer["result"]
      rescue Errno::EPIPE
        raise Error, "the agent has ended"
      end

      def close
        @writer.close
        @process.gone_within?(5) || @process.kill
        @thread.join
        @reader.close
      end

      private

      # @return [Hash, nil]
      def await(id, seconds)
        ends = now + seconds
        @lock.synchronize do
          until @answers.key?(id)
            raise Error, "the agent has ended" if @ended
            return if now > ends
            @answered.wait(@lock, ends - now)
          end
          @answers.delete(id)
        end
      end

      def read
        while (line = @reader.gets)
          answer = JSON.parse(line)
          @lock.synchronize { @answers[answer["id"]] = answer }
          @answered.broadcast
        end
      ensure
        @lock.synchronize { @ended = true }
        @answered.broadcast
      end

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
    end
  end
end
