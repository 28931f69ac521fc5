# frozen_string_literal: true

require_relative "cluster"
require_relative "commit_path"
require_relative "lane"
require_relative "read_path"

module Penstock
  module Testing
    module Memory
      module Kafka
        # A member's client, with the interface of Penstock::Native::Consumer. The work that librdkafka does on threads of
        # its own (heartbeats, joining, fetching, sending) happens on the timeline, also while the poll loop is busy; a
        # process that is stopped or dead (`host`) receives nothing until it runs again.
        class Driver
          NOBODY = ""
          private_constant :NOBODY

          # Processes that never stop, for tests that simulate no processes.
          class Host
            def run_when_awake = yield
          end

          attr_reader :name, :waiter, :assigned, :member_id, :epoch, :group, :cluster, :lanes, :commits, :reads

          # @return [String, nil] of a static member
          attr_reader :instance_id

          # @return [Boolean] whether a seek to an offset that retention has deleted continues at the log's end
          #   (`auto.offset.reset`)
          attr_accessor :resets_to_end

          # @param cluster [Cluster]
          # @param group_id [String]
          # @param host [#run_when_awake] the process it runs in
          # @param waiter [#call] waits; called with the driver and ms
          # @param instance_id [String, nil] makes it a static member (of a classic group)
          def initialize(cluster, group_id, name:, host: Host.new, waiter: Waiter.new(cluster.timeline), instance_id: nil)
            @instance_id = instance_id
            @cluster = cluster
            @group = cluster.groups.fetch(group_id)
            @name = name
            @host = host
            @waiter = waiter
            @events = []
            @pending = []
            @assigned = []
            @lanes = {}
            @ready = []
            @next_id = 0
            @member_id = NOBODY
            @epoch = -1
            @closed = false
            @commits = CommitPath.new(self)
            @reads = ReadPath.new(self)
            @wanted = nil
            @after = nil
            @replied = @requested = @round = 0
            @joining = @syncing = @unassigning = false
            @woken = false
            cluster.opened(self)
          end

          # Runs the timeline until there is something to do: for tests without a scheduler.
          class Waiter
            def initialize(timeline)
              @timeline = timeline
            end

            def call(driver, timeout_ms)
              ends = @timeline.now + timeout_ms
              until driver.signalled?
                due = @timeline.next_at
                break if due.nil? || due > ends
                @timeline.step
              end
              @timeline.pass_to(ends) unless driver.signalled?
              driver.signalled?
            end
          end

          # --- the interface of the native consumer

          def subscribe(topics)
            @topics = topics
            join
          end

          def wait(timeout_ms)
            woken = @waiter.call(self, timeout_ms)
            @woken = false
            woken
          end

          def wakeup
            @woken = true
            @waiter.wake(self) if @waiter.respond_to?(:wake)
          end

          def signalled? = @woken || !@events.empty? || !@ready.empty?

          def poll_event
            event = @events.shift or return
            return event unless %i[assign revoke].include?(event[0])
            @pending << event
            @cluster.observer.revocation_begins(self, event[1], event[2]) if event[0] == :revoke
            event
          end

          def pending_rebalances = @pending.size

          def lane(topic, partition)
            @lanes.delete([topic, partition])&.close
            @lanes[[topic, partition].freeze] = Lane.new(self, @next_id += 1, topic, partition, @cluster.log(topic, partition))
          end

          def ready_lanes
            ids, @ready = @ready, []
            ids
          end

          def take(triples) = triples.each_slice(3).map { |lane, most, _bytes| lane.take(most) }

          def touch(lanes)
            lanes.each { |lane| ready(lane) if lane.touch }
            nil
          end

          def seek(lane, offset, _epoch = -1)
            raise ArgumentError, "a lane of another consumer" unless @lanes[lane.key].equal?(lane)
            lane.seek(offset)
            nil
          end

          def answer(_list = nil)
            event = @pending.shift or raise "nothing to answer"
            (event[0] == :assign) ? took(event[1]) : revoked(event[1], event[2])
            repeat_some if @repeat
            @lanes.each_value { |lane| ready(lane) if lane.touch }
            go_on
            nil
          end

          def commit(token, rows)
            @cluster.observer.commit_sent(self, rows, @assigned)
            @commits.send_rows(token, rows)
          end

          def fetch_committed(token, keys, timeout_ms: 10_000) = @reads.send_request(token, keys)

          # @return [GroupMetadata] the member's current identity
          def group_metadata = GroupMetadata.new(@group.id, @epoch, @member_id, nil)
          GroupMetadata = Struct.new(:group_id, :generation, :member_id, :instance_id)

          # @return [Boolean] whether it reads partitions without joining its group
          def direct? = false

          def rebalance_protocol = (@group.style == :eager) ? "EAGER" : "COOPERATIVE"
          def assignment = @assigned.dup
          def state = @closed ? :closed : :open
          def closed? = @closed

          def cached_watermarks(topic, partition)
            log = @cluster.log(topic, partition)
            [log.low, log.high]
          end
          alias_method :query_watermarks, :cached_watermarks

          def offsets_for_times(rows, _timeout_ms)
            rows.map do |topic, partition, time|
              record = @cluster.log(topic, partition).records.find { |each| each.timestamp >= time }
              [topic, partition, record ? record.offset : -1, 0]
            end
          end

          def metadata(_topic, _timeout_ms)
            topics = @cluster.topics.transform_values do |logs|
              {error: 0, partitions: logs.each_index.to_h { |index| [index, {}] }}
            end
            {brokers: [], topics: topics, cluster_id: "fake"}
          end

          def close(_timeout_ms = 0)
            return if @closed
            @cluster.observer.closed(self, @assigned)
            forget
            @cluster.timeline.after(@cluster.latency) { @group.leave(self) }
            nil
          end

          # --- broker, network and process

          # The process has ended without leaving the group.
          def forget
            @closed = true
            @assigned = []
            @lanes.each_value(&:close)
            @cluster.gone(self)
          end

          # Runs the effect of a broker's message, when the process runs and the network works.
          def from_broker(&block)
            @host.run_when_awake { yield unless @closed }
          end

          # The same, after the network's delay; messages arrive in the order in which they were sent.
          def reply(&block)
            @replied = [@cluster.timeline.now + @cluster.latency + @commits.cut_left, @replied + 1].max
            @cluster.timeline.at(@replied) { from_broker(&block) }
          end

          # Sends something to the coordinator, in order too.
          def request(&block)
            @requested = [@cluster.timeline.now + @cluster.latency + @commits.cut_left, @requested + 1].max
            @cluster.timeline.at(@requested, &block)
          end

          # @return [Boolean] whether a JoinGroup waits for its answer
          def joining? = @joining

          # @return [Boolean] whether a rebalance is in progress that the application doesn't know of yet
          def rebalancing? = @joining || @syncing

          def joined(member_id, epoch)
            @member_id = member_id
            @epoch = epoch
            @joining = false
            @syncing = true
            @commits.join_answered
          end

          # The answer to the heartbeat: all members join again.
          def rebalance_in_progress
            @syncing = false
            return if @joining || busy?
            return join if @group.style == :cooperative || @assigned.empty?
            @after = :join
            push([:revoke, @assigned.dup, false])
          end

          # The answer to a SyncGroup that was sent before the member joined again is discarded.
          # @param keys [Array] the partitions that the group assigns to us
          def assigned_by_group(keys, epoch = nil)
            return if @joining
            @syncing = false
            return @wanted = [keys, epoch] if busy?
            @epoch = epoch if epoch
            return push([:assign, keys]) if @group.style == :eager
            incremental(@assigned - keys, keys - @assigned)
          end

          # The coordinator no longer knows the member, or (`outdated`) is at a later generation.
          def unknown_member(outdated: false)
            @member_id = NOBODY unless outdated
            @epoch = -1
            @joining = @syncing = false
            @round += 1
            @wanted = nil
            @commits.join_answered
            return @after = :lost if @unassigning || [*@pending, *@events].any? { |event| event[0] == :revoke }
            lose
          end

          # @return [Boolean] whether a rebalance event waits
          def busy? = @unassigning || !@pending.empty? || @events.any? { |event| event[0] == :assign || event[0] == :revoke }

          def push(event)
            @events << event
            wakeup
          end

          def ready(lane)
            return if @ready.include?(lane.id)
            @ready << lane.id
            wakeup
          end

          def fetch_later(&block)
            @cluster.timeline.after(@cluster.latency) { from_broker(&block) }
          end

          def log_changed(topic, partition) = @lanes[[topic, partition]]&.wake

          # With the next answer the streams of the lanes that stay restart at a slightly earlier offset, as with an
          # unpatched librdkafka.
          def repeat_next_time = @repeat = true

          def inspect = "#<Driver>"

          private

          def repeat_some
            @repeat = false
            @lanes.each_value { |lane| lane.repeat(@cluster.random.rand) }
          end

          def join
            return if @joining
            @joining = true
            return ask_to_join if @group.style == :cooperative
            round = @round
            @commits.when_idle { ask_to_join if round == @round }
          end

          # One JoinGroup at a time: one that is still in flight when the membership ends is discarded. Otherwise its
          # answer would be taken for that of the next one.
          def ask_to_join
            member = @member_id
            owned = @assigned.dup
            round = @round
            request { @group.join(self, member, @topics, owned) unless @closed || round != @round }
          end

          def took(keys)
            @cluster.observer.taken_over(self, keys)
            @assigned |= keys
            keys.each { |key| start(key) }
          end

          # librdkafka itself reads the group's committed offset.
          def start(key)
            lane = @lanes[key] or return
            request do
              next reply_start(key, lane) if @group.trouble || @group.unstable || @group.held?(key)
              committed = @group.committed[key]&.offset
              offset = committed ? @reads.begin_at(committed) : -2
              reply { lane.start(offset) if @lanes[key].equal?(lane) && !lane.closed? && !lane.started? }
            end
          end

          def reply_start(key, lane)
            @cluster.timeline.after(100) { start(key) if @lanes[key].equal?(lane) }
          end

          def revoked(keys, lost)
            @cluster.observer.revoked(self, keys, lost)
            @assigned -= keys
            keys.each { |key| @lanes[key]&.stop }
          end

          def incremental(revoked, added)
            @after = revoked.empty? ? @after || :acknowledge : [:assign, added]
            push(revoked.empty? ? [:assign, added] : [:revoke, revoked, false])
          end

          def lose
            going = @assigned | @events.select { |event| event[0] == :assign }.flat_map { |event| event[1] } |
              @pending.select { |event| event[0] == :assign }.flat_map { |event| event[1] }
            return join if going.empty?
            @after = :join
            push([:revoke, going, true])
          end

          # Runs what follows an answer; a partition is given back to the group once outstanding commits are answered.
          def go_on
            return if busy?
            after, @after = @after, nil
            return later if after.nil?
            @unassigning = true
            @commits.when_idle { follow(after) unless @closed }
          end

          def follow(after)
            @unassigning = false
            after, @after = @after, nil if @after == :lost # expelled meanwhile
            case after
            when :join then join
            when :lost then lose
            when :acknowledge then acknowledge
            when Array then gave_back(after[1])
            end
          end

          def gave_back(added)
            return acknowledge if @group.style == :consumer
            @after = :join
            push([:assign, added])
          end

          # KIP-848: the next heartbeat lists our partitions.
          def acknowledge
            return later unless @group.style == :consumer
            owned = @assigned.dup
            member = @member_id
            request { @group.acknowledge(member, owned) }
            later
          end

          def later
            wanted, @wanted = @wanted, nil
            assigned_by_group(*wanted) if wanted
          end
        end
      end
    end
  end
end
