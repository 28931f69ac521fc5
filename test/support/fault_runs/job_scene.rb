# frozen_string_literal: true

require_relative "job_checks"

module Penstock
  module TestSupport
    module FaultRuns
      # Servers that perform jobs, and a process that enqueues them. Made for a {Scene}.
      class JobScene
        include Wait

        # Shares of a thousand.
        KINDS = {"retried" => 50, "discarded" => 40, "poison" => 40, "poison:missing" => 30, "poison:arguments" => 40,
                 "poison:gone" => 30}.freeze
        # Order isn't promised; a job that is enqueued again is in its queue twice, with one id.
        WITHOUT = %w[i3 i5_doubled_by_producers].freeze
        # A delayed job is acknowledged by its delay topic.
        WITHOUT_DELAYED = [*WITHOUT, "i1_lost_by_brokers"].freeze

        # @return [Application]
        attr_reader :application

        # @param scene [Scene]
        # @param plan [Hash] more of programs/job_server.rb
        def initialize(scene, queue: {}, **plan)
          @scene = scene
          @run = scene.run
          topic = @run.topic("jobs", config: queue)
          dead = @run.topic("jobs-dead", partitions: 1)
          @application = scene.consumers("jobs", program: "job_server.rb", topic: topic, rate: 0, mode: "message", failing: true,
            dead: dead, max_retries: 2, short_session: true, **plan)
        end

        # @return [Member] ends when all are enqueued
        def enqueue(**plan)
          plan = {application: "enqueuer", group: @application.group, topic: @application.topic, dead: @application.dead,
                  folder: @run.folder, kafka: {"bootstrap.servers": @run.bootstrap_servers, "enable.idempotence": true},
                  seed: @run.random.rand(1 << 30), **plan}
          @run.spawn("enqueuer", "job_enqueuer.rb", plan)
        end

        # Waits; meanwhile a server that a job has killed is replaced.
        # @yieldreturn [Boolean] whether the wait ends
        def tend(seconds, what)
          state = -> { [done, @run.lagging, @application.alive.map { |one| one.tail(3) }] }
          wait_until(seconds, what, state: state, every: 0.25) do
            @application.members.each { |member| member.may_end("signal KILL") }
            @application.start while @application.alive.size < 2
            yield
          end
        end

        # kill -9 of a server; another one starts.
        def kill_server
          @run.nemesis.kill_member(@scene.any(@application.alive))
          @application.start
        end

        # In order.
        def replace_server
          @application.start
          @run.nemesis.stop_member(@application.alive.first)
        end

        # @return [Integer] jobs that have ended so far, with repeated ones
        def done
          Dir[File.join(@run.folder, "jobs-*.journal")].sum do |path|
            File.foreach(path, mode: "rb").count { |line| line.include?("\tend\t") }
          end
        end

        # @return [Boolean] whether every delay topic is empty, and the queue read to its end
        def idle?
          committed = @run.agent.call(:committed, group: "#{@application.group}.delay")
            .to_h { |row| [row.values_at("topic", "partition"), row["offset"]] }
          topics = @run.agent.call(:topics).grep(/\A#{Regexp.escape(@application.group)}\.delay\.\d+\z/)
          ends = topics.flat_map do |name|
            @run.agent.call(:end_offsets, topic: name).map { |partition, last| [[name, Integer(partition)], last] }
          end
          ends.all? { |place, last| committed.fetch(place, 0) >= last } && @run.lagging.empty?
        rescue ClusterAgent::Error
          false
        end

        # After all faults: the checks of jobs, and their figures.
        def expect_all(count)
          @scene.expect("jobs") do |checker|
            checks = JobChecks.new(checker.database)
            @run.measured.merge!(checks.figures)
            found = checks.violations
            found["ids"] = ["#{@run.measured[:ids]} ids of #{count} jobs"] unless @run.measured[:ids] == count
            found.map { |name, list| "#{name}: #{list.size}, first #{list.first(3).join("; ")}" }.join("\n      ") if found.any?
          end
        end
      end
    end
  end
end
