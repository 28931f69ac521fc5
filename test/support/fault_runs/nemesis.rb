# frozen_string_literal: true

module Penstock
  module TestSupport
    module FaultRuns
      # Causes faults in a {Run}, and records which, when and for how long. It can end every fault that it has begun.
      class Nemesis
        # @param run [Run]
        def initialize(run)
          @run = run
          @open = []
          @lock = Mutex.new
        end

        # Brokers.

        def kill_broker(id) = begun("broker killed", id) { cluster.kill(id) }
        def freeze_broker(id) = begun("broker frozen", id) { cluster.freeze_node(id) }

        def thaw_broker(id)
          cluster.thaw(id)
          over("broker frozen", id)
        end

        # @return when it has started again
        def start_broker(id)
          cluster.start_node(id)
          over("broker killed", id)
        end

        # In order: down, a while, up.
        def restart_broker(id, down: 0)
          fault("broker restarts", id) do
            cluster.stop_node(id)
            @run.pass(down)
            cluster.start_node(id)
          end
        end

        def bounce_broker(id, down: 3)
          kill_broker(id)
          @run.pass(down)
          start_broker(id)
        end

        def move_leader(topic, partition, to:) = fault("leader moves", "#{topic}/#{partition} to #{to}") do
          cluster.move_leader(topic, partition, to: to)
        end

        def move_coordinator(group, to:)
          fault("coordinator moves", "#{group} to #{to}") { cluster.move_coordinator(group, to: to) }
        end

        def move_transaction_coordinator(id, to:) = fault("transaction coordinator moves", "#{id} to #{to}") do
          cluster.move_transaction_coordinator(id, to: to)
        end

        # The network.

        # @return [Integer] how many connections
        def reset(broker: nil, client: nil)
          count = 0
          fault("connections reset", [broker && "broker #{broker}", client].compact.join(" ")) do
            count = proxy.reset(broker: broker, client: client)
          end
          count
        end

        # Lasts as long as the block.
        # @param what [Symbol] a rule of {FaultProxy}
        # @return [Integer] how many frames it affected
        def rule(what, *arguments, **options)
          name = proxy.public_send(what, *arguments, **options)
          fault("#{what.name} #{arguments.join(" ")}", options.map { |pair| pair.join(" ") }.join(", ")) { yield name }
          proxy.hits(name)
        ensure
          proxy.remove(name) if name
        end

        def link(broker, **settings)
          begun("link #{settings.map { |pair| pair.join(" ") }.join(", ")}", broker) { proxy.link(broker, **settings) }
        end

        def unlink(broker)
          proxy.link(broker, mode: :open, latency: 0, rate: 0)
          @lock.synchronize { @open.select { |fault| fault.kind.start_with?("link ") && fault.target == broker.to_s } }
            .each { |fault| over(fault.kind, broker) }
        end

        # Members.

        def kill_member(member) = fault("member killed", member.name) { member.kill }

        def kill_process(member, pid)
          fault("process killed", "#{pid} of #{member.name}") { member.signal("KILL", pid) }
        end

        def freeze_member(member, pid = member.pid)
          begun("member frozen", "#{member.name} #{pid}") { member.signal("STOP", pid) }
        end

        def thaw_member(member, pid = member.pid)
          member.signal("CONT", pid)
          over("member frozen", "#{member.name} #{pid}")
        end

        def stop_member(member) = fault("member stops", member.name) { member.stop }

        # Ends all faults that are still active.
        def end_all
          proxy.clear
          cluster.nodes.each_key { |id| proxy.link(id, latency: 0, rate: 0) }
          @run.members.each { |member| member.signal("CONT") if member.alive? }
          @lock.synchronize { @open.dup }.each { |fault| over(fault.kind, fault.target) }
        end

        # The run ends its own waits in other threads.
        def close = nil

        def fault(kind, target = nil, &) = @run.chronicle.fault(kind, target, &)

        private

        def cluster = @run.cluster
        def proxy = cluster.proxy

        def begun(kind, target)
          fault = @run.chronicle.begin_fault(kind, target)
          @lock.synchronize { @open << fault }
          yield
        end

        def over(kind, target)
          found = @lock.synchronize do
            @open.find { |fault| fault.kind == kind && fault.target == target.to_s }.tap { |fault| @open.delete(fault) }
          end
          @run.chronicle.end_fault(found) if found
        end
      end
    end
  end
end
