# frozen_string_literal: true

require_relative "group"

module Penstock
  module Testing
    module Memory
      module Kafka
        # The protocol of JoinGroup and SyncGroup, eager and cooperative. States as in the broker: :empty, :preparing
        # (members are asked to join again), :completing (the assignment is on its way), :stable.
        class ClassicGroup < Group
          INITIAL_DELAY_MS = 30
          private_constant :INITIAL_DELAY_MS

          attr_reader :state, :generation

          def initialize(...)
            super
            @state = :empty
            @generation = 0
            @round = 0
          end

          # A JoinGroup has arrived.
          # @param member_id [String] empty for a new member
          def join(driver, member_id, topics, owned)
            member = @members[member_id] || came_back(driver, member_id, topics)
            return driver.unknown_member if member.nil? && !member_id.empty?
            return if member&.driver.equal?(driver) && member.id != member_id && as_it_was?(member)
            first = @members.empty?
            member ||= add(driver, topics)
            member.owned = owned unless @style == :eager
            member.joined = true
            prepare unless @state == :preparing
            return @cluster.timeline.after(INITIAL_DELAY_MS) { complete_if_all } if first
            complete_if_all
          end

          # Begins a rebalance, of which members learn with their next heartbeat.
          def rebalance = (prepare unless @state == :preparing || @members.empty?)

          # Commits of a member are answered after its own JoinGroup.
          def refusal(request)
            return @trouble if @trouble
            member = @members[request.member_id]
            return :unknown_member_id unless member
            return :illegal_generation unless request.epoch == @generation
            :rebalance_in_progress if @state == :completing
          end

          private

          # A static member that has restarted takes the place of its predecessor.
          # @return [Member, nil]
          def came_back(driver, member_id, topics)
            return unless driver.instance_id && member_id.empty?
            before = @members.each_value.find { |member| member.driver.instance_id == driver.instance_id } or return
            @members.delete(before.id)
            @cluster.observer.came_back(driver)
            add(driver, topics).tap { |member| member.owned = before.owned }
          end

          # In a stable group no other member learns of it. (A broker does the same when the member died after it had
          # revoked a partition and before it joined again, so that nobody has the partition until the group changes. Here
          # the group changes at once.)
          # @return [Boolean] whether it keeps its partitions
          def as_it_was?(member)
            return false unless @state == :stable && all_given?
            driver = member.driver
            generation = @generation
            round = @round
            driver.reply { driver.joined(member.id, generation) }
            @cluster.timeline.after(8) { driver.reply { assigned(member, member.owned, round) } }
            true
          end

          def all_given?
            members = @members.values
            members.sum { |member| member.owned.size } == @cluster.partitions(members.flat_map(&:topics).uniq).size
          end

          def prepare
            @state = :preparing
            round = @round += 1
            @members.each_value { |member| notify(member, round) unless member.joined }
            @cluster.timeline.after(@rebalance_ms) { overdue if round == @round && @state == :preparing }
          end

          def notify(member, round)
            @cluster.timeline.after(@cluster.random.rand(1..@heartbeat_ms)) do
              next unless @state == :preparing && round == @round && !member.joined && @members.key?(member.id)
              member.driver.from_broker { member.driver.rebalance_in_progress }
              notify(member, round)
            end
          end

          # Expels members that haven't joined again in time.
          def overdue
            late = @members.values.reject(&:joined)
            late.each { |member| expel(member) }
            complete_if_all
          end

          def left(_member)
            return @state = :empty if @members.empty?
            (@state == :preparing) ? complete_if_all : prepare
          end

          def complete_if_all
            complete if @state == :preparing && @members.any? && @members.each_value.all?(&:joined)
          end

          def complete
            @state = :completing
            @generation += 1
            round = @round
            plan = assignments
            plan.each_key { |member| member.joined = false }
            generation = @generation
            plan.each do |member, keys|
              member.driver.reply { member.driver.joined(member.id, generation) }
              @cluster.timeline.after(8) { member.driver.reply { assigned(member, keys, round) } }
            end
            @cluster.timeline.after(10) { @state = :stable if round == @round && @state == :completing }
            @pins.clear if all_given? # a cooperative hand-over takes two generations
          end

          # A SyncGroup during the next rebalance gets an error instead.
          def assigned(member, keys, round)
            return member.driver.rebalance_in_progress unless round == @round
            member.driver.assigned_by_group(keys)
          end

          # Cooperative: a partition that moves is first revoked from its owner, and assigned in the next generation.
          def assignments
            held = (@style == :eager) ? {} : @members.each_value.to_h { |member| [member, member.owned] }
            target.to_h do |member, keys|
              member.owned = keys - held.except(member).values.flatten(1)
              [member, member.owned]
            end
          end
        end
      end
    end
  end
end
