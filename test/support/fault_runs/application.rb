# frozen_string_literal: true

require_relative "member"

module Penstock
  module TestSupport
    module FaultRuns
      # An application of a fault run: what it consumes and how, and its processes. The caller sets what differs from
      # the defaults (programs/consumer.rb lists the options).
      class Application
        COMMIT_MS = 5_000
        PROTOCOLS = {
          cooperative: {}, # the default
          eager: {"partition.assignment.strategy": "range"},
          consumer: {"group.protocol": "consumer"}
        }.freeze
        # For cases in which members die: short, so that the group notices it soon, but long enough for a busy machine.
        # Otherwise the default.
        SHORT_MS = 10_000
        # Kafka's default.
        DEFAULT_SESSION_MS = 45_000

        attr_reader :name, :group, :topic, :members, :plan, :kafka

        # @param run [Run]
        # @param name [String]
        # @param topic [String]
        # @param protocol [Symbol] of PROTOCOLS
        # @param kafka [Hash] more of librdkafka's properties
        # @param plan [Hash] see programs/consumer.rb
        # @param short_session [Boolean] whether the group soon notices that a member has died
        # @param program [String] of {Member::PROGRAMS}
        def initialize(run, name, topic:, protocol: :cooperative, short_session: false, kafka: {}, program: "consumer.rb", **plan)
          @run = run
          @program = program
          @name = name
          @topic = topic
          @group = "#{run.id}-#{name}"
          @kafka = {"bootstrap.servers": run.bootstrap_servers, **PROTOCOLS.fetch(protocol), **kafka}
          shorten_session(protocol) if short_session
          @plan = {mode: "whole", offsets: "automatic", **plan}
          @members = []
        end

        # @return [Member] one more process
        # @param more [Hash] of its plan
        # @param place [Integer] of its transactional id; its own number, unless it takes over another member's
        def start(env: {}, kafka: {}, place: nil, **more)
          member = (@count = @count.to_i + 1)
          (@places ||= {})["#{@name}-#{member}"] = place ||= member
          own = @plan[:transactional] ? {"transactional.id": "#{@group}-#{place}"} : {}
          plan = {application: @name, member: member, group: @group, topic: @topic, folder: @run.folder,
                  kafka: {**@kafka, **own, **kafka}, **@plan, **more}
          @run.spawn("#{@name}-#{member}", @program, plan, env: env).tap { |one| @members << one }
        end

        # @param member [Member] that has ended
        # @return [Hash] for {#start}, so that another member ends its open transaction
        def replacing(member) = {place: @places.fetch(member.name)}

        # @return [Integer, nil] how long a classic group waits for a dead member, in ms; nil for a KIP-848 group
        def session_ms
          return if @kafka[:"group.protocol"].to_s == "consumer"
          @kafka.fetch(:"session.timeout.ms", DEFAULT_SESSION_MS)
        end

        # @return [Array<Member>]
        def alive = @members.select(&:alive?)

        # @return [Integer] records of a partition that its consumer keeps until more come, or until it stops
        def may_hold = (plan[:work] == "gather") ? 9 : 0

        # The topics that must be read to their end: the application's own and those it creates for retries.
        # @return [Array<String>]
        def topics = [@topic, *retry_topics]

        def retry_topics
          separator = @topic[/[._-]/] || "."
          Array.new(@plan[:retries].to_a.size) { |tier| [@topic, "retry", tier + 1].join(separator) }
        end

        def dead = @plan[:dead]

        # With KIP-848 the session timeout is a setting of the group, on the brokers.
        def shorten_session(protocol)
          return @kafka.merge!("session.timeout.ms": SHORT_MS, "heartbeat.interval.ms": 1_000) unless protocol == :consumer

          @run.agent.call(:alter_group, group: @group, config: {"consumer.session.timeout.ms" => SHORT_MS})
        end

        # @return [Hash] for {Database#add_application}
        def to_row
          {name: @name, consumer_group: @group, topic: @topic, lane: @plan.fetch(:mode), offsets: @plan.fetch(:offsets),
           failing: !!@plan[:failing], transactional: !!@plan[:transactional], out_topic: @plan[:out], dead_topic: dead,
           attempts: dead && ((@plan[:retries]&.size || @plan.fetch(:max_retries, 2)) + 1),
           commit_us: @kafka.fetch(:"auto.commit.interval.ms", COMMIT_MS) * 1_000, retries: retry_topics}
        end
      end
    end
  end
end
