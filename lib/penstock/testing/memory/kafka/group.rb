# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      module Kafka
        # A group as its coordinator sees it: members, assignments, commits. Subclasses implement the rebalance protocol.
        class Group
          # An entry of the offsets topic.
          Commit = Struct.new(:offset, :metadata, :leader_epoch)
          # One transaction's offset of one partition; `number`: its position in the sequence of all offset writes.
          Pending = Struct.new(:id, :key, :commit, :number, :request)
          # The answer of brokers where no offset is committed, or none that may be read yet.
          NONE = [-1001, nil, -1].freeze
          private_constant :Pending, :NONE

          # One member. `owned`: assigned to it and not yet given back; `revoking`: what it was asked to give back, nil
          # otherwise; `topics`: its subscription.
          class Member
            attr_reader :id, :driver, :topics
            attr_accessor :epoch, :owned, :joined, :revoking

            def initialize(id, driver, topics)
              @id = id
              @driver = driver
              @topics = topics
              @epoch = 0
              @owned = []
              @joined = false
            end

            def inspect = "#<Member #{@id}>"
          end

          attr_reader :id, :style, :members, :committed

          # Errors for every request: coordinator unavailable, offsets unstable.
          # @return [Symbol, nil]
          attr_accessor :trouble, :unstable

          # @param heartbeat_ms [Integer] between two heartbeats of a member
          # @param session_ms [Integer] without a heartbeat, until a member is expelled
          # @param rebalance_ms [Integer] how long members may take to revoke partitions
          def initialize(cluster, id, style, heartbeat_ms: 100, session_ms: 3_000, rebalance_ms: 20_000)
            @cluster = cluster
            @id = id
            @style = style
            @heartbeat_ms = heartbeat_ms
            @session_ms = session_ms
            @rebalance_ms = rebalance_ms
            @members = {}
            @committed = {}
            @written = {}
            @pending = []
            @numbers = 0
            @serial = 0
            @pins = {}
          end

          attr_reader :session_ms

          # @return [Driver, nil] the member that owns the partition now
          def owner(key) = @members.each_value.find { |member| member.owned.include?(key) }&.driver

          # --- offsets

          # @param request [Driver::CommitRequest]
          # @return [Array(Integer, Hash)] error of the whole request, and of each partition
          def commit(request)
            code = refusal(request) unless request.driver&.direct?
            return [Cluster.number(code), {}] if code
            errors = {}
            request.rows.each do |topic, partition, offset, metadata, epoch|
              key = [topic, partition]
              next errors[key] = Cluster.number(:offset_metadata_too_large) if metadata.to_s.bytesize > @cluster.metadata_limit
              before = @committed[key]
              @committed[key] = Commit.new(offset, metadata, epoch)
              @written[key] = next_number
              @cluster.observer.stored(self, key, before, @committed[key], request)
            end
            [0, errors]
          end

          # @return [Array<Array>] rows as the driver returns them
          # @param keys [Array<(String, Integer)>] partition -1 stands for all partitions of the topic
          def offsets(keys)
            keys = keys.flat_map { |key| key[1].negative? ? @cluster.partitions([key[0]]) : [key] }
            keys.map do |topic, partition|
              commit = @committed[[topic, partition]]
              @cluster.observer.read([topic, partition]) if commit
              blocked = @unstable || held?([topic, partition])
              next [topic, partition, *NONE, Cluster.number(:unstable_offset_commit)] if blocked
              [topic, partition, *(commit ? [commit.offset, commit.metadata, commit.leader_epoch] : NONE), 0]
            end
          end

          # Deleting a topic deletes its committed offsets.
          def forget(key) = @committed.delete(key)

          # --- offsets that transactions hold

          # @return [Array<Pending>]
          def pend(id, request)
            request.rows.map do |topic, partition, offset, metadata, epoch|
              Pending.new(id, [topic, partition], Commit.new(offset, metadata, epoch), next_number, request)
                .tap { |pending| @pending << pending }
            end
          end

          # @return [Boolean] whether a transaction holds the partition's offset
          def held?(key) = @pending.any? { |pending| pending.key == key }

          # Of several writes the last one counts.
          # @param pendings [Array<Pending>]
          # @param how [Symbol] :commit or :abort
          def settle(pendings, how)
            pendings.each do |pending|
              @pending.delete_if { |other| other.equal?(pending) }
              next if how == :abort || (@written[pending.key] || 0) > pending.number
              before = @committed[pending.key]
              @committed[pending.key] = pending.commit
              @written[pending.key] = pending.number
              @cluster.observer.stored(self, pending.key, before, pending.commit, pending.request)
            end
          end

          # Checks a transaction's offsets as a coordinator does: a request without a member id is not checked.
          # @return [Symbol, nil]
          def transaction_refusal(request)
            return if request.epoch.negative? && request.member_id.empty?
            code = refusal(request)
            (code == :stale_member_epoch) ? :illegal_generation : code
          end

          # --- members

          # A member's client has sent nothing for the session timeout.
          def silent(driver)
            member = member_of(driver) or return
            expel(member)
          end

          # @param driver [Driver] leaves in order; a static member sends nothing, and keeps its partitions until its
          #   session ends
          def leave(driver)
            member = member_of(driver) or return
            return remove(member) unless driver.instance_id
            @cluster.timeline.after(@session_ms) { remove(member) if @members[member.id].equal?(member) }
          end

          def member_of(driver) = @members.each_value.find { |member| member.driver.equal?(driver) }

          # Moves a partition to another member at the next rebalance, and begins one.
          def shuffle
            @pins.clear
            candidates = @members.values
            return if candidates.size < 2
            keys = @cluster.partitions(candidates.flat_map(&:topics).uniq)
            keys.sample([keys.size / 2, 1].max, random: @cluster.random).each do |key|
              @pins[key] = candidates[@cluster.random.rand(candidates.size)].id
            end
            rebalance
          end

          # The client is about to join: it gets these partitions, and all others stay where they are.
          # @param driver [Driver]
          # @param keys [Array<Array(String, Integer)>]
          def reserve(driver, keys)
            owners = @members.each_value.flat_map { |member| member.owned.map { |key| [key, member.id] } }.to_h
            @pins = owners.merge(keys.to_h { |key| [key, next_id(driver)] })
          end

          # @return [Boolean] whether each partition is with the member that the group has assigned it to
          def settled?
            drivers = @members.each_value.map(&:driver)
            keys = @cluster.partitions(@members.each_value.flat_map(&:topics).uniq)
            drivers.none? { |driver| driver.rebalancing? || driver.busy? } && (keys - drivers.flat_map(&:assigned)).empty?
          end

          def inspect = "#<Group>"

          private

          def next_number = @numbers += 1

          def add(driver, topics)
            member = Member.new(next_id(driver), driver, topics)
            @serial += 1
            @members[member.id] = member
          end

          def next_id(driver) = "#{driver.name}-#{@serial + 1}"

          def remove(member)
            @members.delete(member.id)
            left(member)
          end

          # The member learns of it with its next heartbeat, or with the answer to its JoinGroup: a new member doesn't
          # know its id yet.
          def expel(member)
            driver = member.driver
            joining = member.joined
            @cluster.observer.expelled(driver)
            driver.reply { driver.unknown_member if driver.member_id == member.id || (joining && driver.joining?) }
            remove(member)
          end

          # Balanced, with as few moves as possible; pinned partitions go to the member they are pinned to.
          # @return [Hash{Member => Array}]
          def target
            members = @members.values
            return {} if members.empty?
            keys = @cluster.partitions(members.flat_map(&:topics).uniq)
            most = (keys.size + members.size - 1) / members.size
            most = keys.size unless @pins.empty?
            plan = members.to_h { |member| [member, keys.select { |key| wants?(member, key) }.first(most)] }
            (keys - plan.values.flatten(1)).each { |key| plan.min_by { |member, given| [given.size, member.id] }.last << key }
            plan
          end

          def wants?(member, key)
            pinned = @pins[key]
            return member.id == pinned if pinned && @members.key?(pinned)
            member.owned.include?(key)
          end
        end
      end
    end
  end
end
