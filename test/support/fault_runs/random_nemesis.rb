# frozen_string_literal: true

module Penstock
  module TestSupport
    module FaultRuns
      # Causes faults in a random order: the seed determines which, on what and for how long; and, nearly, when. One
      # fault begins every few seconds while others still last, but never is more than one broker away for longer than a
      # moment, so that partitions with two replicas stay available. Used by one thread: {#turn} begins faults that are
      # due and ends those whose time is up.
      class RandomNemesis
        # An active fault: what it makes unavailable, and how it is ended.
        Lasting = Struct.new(:kind, :resource, :ends, :undo)

        # How often each kind is drawn, in relation to the others.
        WEIGHTS = {
          kill_broker: 4, freeze_broker: 3, restart_broker: 3, move_leaders: 3, move_coordinator: 5, move_transactions: 2,
          reset_broker: 6, reset_client: 6, drop_response: 8, delay_response: 4, cut_request: 5, double_response: 2, damage: 2,
          slow_link: 2, frozen_link: 3, kill_member: 6, freeze_member: 4, stop_member: 6, join_member: 5, kill_child: 3
        }.freeze
        DROPPED = %i[find_coordinator offset_fetch offset_commit join_group sync_group heartbeat leave_group metadata fetch
          produce init_producer_id add_partitions_to_txn add_offsets_to_txn txn_offset_commit end_txn
          consumer_group_heartbeat].freeze
        # If a response of these is doubled, clients discard the copy because no request has its correlation id.
        DOUBLED = %i[heartbeat metadata find_coordinator offset_commit].freeze

        # @param scene [Scene]
        # @param random [Random]
        # @param every [Range] seconds between two faults
        def initialize(scene, random:, every: 1.5..5.0)
          @scene = scene
          @nemesis = scene.nemesis
          @random = random
          @every = every
          @lasting = []
          @next = now
        end

        # @return [Hash{Symbol => Integer}] how many of each were begun
        def counts = @counts ||= Hash.new(0)

        def turn
          @lasting.select { |one| one.ends <= now }.each { |one| undo(one) }
          return if now < @next

          @next = now + @random.rand(@every)
          kind = draw
          counts[kind] += 1
          send(kind)
        end

        # Ends the faults that still last.
        def finish = @lasting.dup.each { |one| undo(one) }

        private

        def cluster = @scene.cluster

        def draw
          number = @random.rand(WEIGHTS.values.sum)
          WEIGHTS.each do |kind, weight|
            return kind if number < weight
            number -= weight
          end
        end

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

        def last(kind, resource, seconds, &undo)
          @lasting << Lasting.new(kind, resource, now + seconds, undo)
        end

        def undo(one)
          @lasting.delete(one)
          one.undo.call
        end

        # The number is drawn in any case, so that the schedule depends on the seed only.
        def pick(list)
          number = @random.rand(1 << 20)
          list[number % list.size] unless list.empty?
        end

        def broker = @random.rand(1..3)

        # Two brokers away at the same time would stop everything.
        def broker_busy? = @lasting.any? { |one| one.resource == :broker } || cluster.states.values.uniq != [:running]

        def application = pick(@scene.run.applications)

        # A fault that can't be caused now is drawn all the same: the schedule depends on the seed only.
        def with_broker(seconds)
          id, time = broker, @random.rand(seconds)
          yield id, time unless broker_busy?
        end

        def kill_broker
          with_broker(2.0..15.0) do |id, time|
            @nemesis.kill_broker(id)
            last(:kill_broker, :broker, time) { @nemesis.start_broker(id) }
          end
        end

        def freeze_broker
          with_broker(3.0..20.0) do |id, time|
            @nemesis.freeze_broker(id)
            last(:freeze_broker, :broker, time) { @nemesis.thaw_broker(id) }
          end
        end

        def restart_broker
          with_broker(0.5..4.0) { |id, time| @nemesis.restart_broker(id, down: time) }
        end

        def frozen_link
          with_broker(2.0..15.0) do |id, time|
            @nemesis.link(id, mode: :frozen)
            last(:frozen_link, :broker, time) { @nemesis.unlink(id) }
          end
        end

        def slow_link
          id, time, latency = broker, @random.rand(4.0..12.0), @random.rand(20..150)
          @nemesis.link(id, latency: latency, rate: 500_000)
          last(:slow_link, :link, time) { @nemesis.unlink(id) }
        end

        def move_leaders
          app, to = application, broker
          return if broker_busy?
          @random.rand(6).then { |partition| quietly { @nemesis.move_leader(app.topic, partition, to: to) } }
        end

        def move_coordinator
          app, to = application, broker
          quietly { @nemesis.move_coordinator(app.group, to: to) } unless broker_busy?
        end

        def move_transactions
          app, to, member = pick(@scene.run.applications.select { |one| one.plan[:transactional] }), broker, @random.rand(1..2)
          quietly { @nemesis.move_transaction_coordinator("#{app.group}-#{member}", to: to) } if app && !broker_busy?
        end

        # A leader that can't be moved now, because a replica isn't in sync yet, is no finding.
        def quietly
          yield
        rescue ClusterAgent::Error, Wait::TimeoutError => error
          @scene.run.say("not done: #{error.message[0, 100]}")
        end

        def reset_broker = @nemesis.reset(broker: broker)
        def reset_client = @nemesis.reset(client: application.name)

        def rule(what, *arguments, seconds:, **options)
          proxy = cluster.proxy
          name = proxy.public_send(what, *arguments, **options)
          fault = @scene.run.chronicle.begin_fault("#{what} #{arguments.join(" ")}".strip, options.map { |pair|
            pair.join(" ")
          }.join(", "))
          last(what, :rule, seconds) do
            proxy.remove(name)
            @scene.run.chronicle.end_fault(fault)
          end
        end

        def drop_response
          rule(:drop, api: pick(DROPPED), side: :response, permille: @random.rand(30..300), times: @random.rand(1..6),
            seconds: @random.rand(3.0..9.0))
        end

        def delay_response
          rule(:delay, @random.rand(300..6_000), api: pick(DROPPED), side: :response, permille: @random.rand(50..400),
            seconds: @random.rand(3.0..9.0))
        end

        def cut_request
          rule(:cut, @random.rand(0..60), api: pick(DROPPED), side: pick(%i[request response]), permille: @random.rand(50..300),
            times: @random.rand(1..5), seconds: @random.rand(3.0..9.0))
        end

        def double_response
          rule(:double, api: pick(DOUBLED), side: :response, permille: 200, times: 3, seconds: 5.0)
        end

        def damage
          rule(pick(%i[corrupt lie]), @random.rand(1..9), api: pick(%i[metadata heartbeat offset_fetch]), side: :response,
            permille: 20, times: 5, seconds: 5.0)
        end

        def member = pick(application.alive)

        def kill_member
          app, one, time = application, @random.rand(1 << 20), @random.rand(0.5..5.0)
          return if app.alive.empty?
          victim = app.alive[one % app.alive.size]
          @nemesis.kill_member(victim)
          last(:kill_member, :member, time) { replace(app, victim) }
        end

        def freeze_member
          one, time = member, @random.rand(2.0..20.0)
          return unless one
          @nemesis.freeze_member(one)
          last(:freeze_member, :member, time) { @nemesis.thaw_member(one) }
        end

        def stop_member
          app, time = application, @random.rand(0.5..5.0)
          victim = pick(app.alive) or return
          return if frozen?(victim)
          @nemesis.fault("member stops", victim.name) { victim.signal("TERM") }
          last(:stop_member, :member, time + 1) { replace(app, victim) }
        end

        def frozen?(member) = @lasting.any? { |one| one.kind == :freeze_member } && KnownProcess.new(member.pid).stopped?

        def join_member
          app, time = application, @random.rand(4.0..20.0)
          return if app.plan[:nodes] || app.alive.size > 3
          extra = app.start
          @scene.run.chronicle.fault("member joins", extra.name)
          last(:join_member, :member, time) { extra.signal("TERM") }
        end

        def replace(app, member)
          return if (@replaced ||= []).include?(member)
          @replaced << member
          app.start(**app.replacing(member))
        end

        # A node of a swarm, a process of a pool. If it was the process from which those of the pool are forked, the member stops,
        # and is started again as a service manager does.
        def kill_child
          app = pick(@scene.run.applications.select { |one| one.plan[:nodes] || one.plan[:run_on] == "processes" })
          parent = app && pick(app.alive) or return
          pids = app.plan[:nodes] ? parent.nodes : parent.descendants.map(&:pid)
          pid = pick(pids)
          return unless pid
          @nemesis.kill_process(parent, pid)
          last(:kill_child, :pool, 30) { replace(app, parent) unless parent.alive? }
        end
      end
    end
  end
end
