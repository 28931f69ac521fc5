# frozen_string_literal: true

require_relative "group"

module Penstock
  module Testing
    module Memory
      module Kafka
        # KIP-848: the coordinator decides the assignment and moves each member towards it with its heartbeats: it first
        # revokes partitions, and assigns them to their new owner once they are given back. A member's epoch is that of
        # its last acknowledged assignment.
        class ConsumerProtocolGroup < Group
          attr_reader :epoch

          def initialize(...)
            super
            @epoch = 0
            @target = {}
          end

          # The first heartbeat.
          def join(driver, member_id, topics, _owned)
            return driver.unknown_member if !member_id.empty? && !@members.key?(member_id)
            member = @members[member_id] || add(driver, topics)
            member.owned = []
            member.revoking = nil
            driver.reply { driver.joined(member.id, member.epoch) }
            rebalance
          end

          def rebalance
            @epoch += 1
            @target = target
            @pins.clear
            @members.each_value { |member| heartbeat(member) }
          end

          # The member has acknowledged the revocation.
          def acknowledge(member_id, owned)
            member = @members[member_id] or return
            return if !member.revoking || owned.intersect?(member.revoking)
            member.owned -= member.revoking
            member.revoking = nil
            @members.each_value { |each| heartbeat(each) }
          end

          def refusal(request)
            return @trouble if @trouble
            member = @members[request.member_id]
            return :unknown_member_id unless member
            :stale_member_epoch unless request.epoch == member.epoch
          end

          private

          def left(_member) = (rebalance if @members.any?)

          def heartbeat(member)
            @cluster.timeline.after(@cluster.random.rand(1..@heartbeat_ms)) { reconcile(member) if @members.key?(member.id) }
          end

          def reconcile(member)
            return if member.revoking
            wanted = @target.fetch(member, [])
            surplus = member.owned - wanted
            return take(member, surplus) if surplus.any?
            give(member, wanted)
          end

          # Sent once; a member that doesn't revoke within the rebalance timeout is fenced.
          def take(member, surplus)
            member.revoking = surplus
            left = member.owned - surplus
            member.driver.reply { member.driver.assigned_by_group(left) }
            @cluster.timeline.after(@rebalance_ms) do
              expel(member) if member.revoking.equal?(surplus) && @members.key?(member.id)
            end
          end

          def give(member, wanted)
            taken = (@members.values - [member]).flat_map(&:owned)
            member.owned += wanted - member.owned - taken
            changed = member.epoch != @epoch
            member.epoch = @epoch
            given = member.owned.dup
            epoch = @epoch
            member.driver.reply { member.driver.assigned_by_group(given, epoch) } if changed || given.any?
          end
        end
      end
    end
  end
end
