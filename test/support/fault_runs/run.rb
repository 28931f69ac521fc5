# frozen_string_literal: true

require "fileutils"
require_relative "application"
require_relative "checker"
require_relative "chronicle"
require_relative "nemesis"
require_relative "result"

module Penstock
  module TestSupport
    module FaultRuns
      # One fault run on a {KafkaCluster}: topics, a producer, applications, faults; then all faults end, the rest is
      # consumed, everything is stopped in order, and the journals are checked. A case (cases.rb) defines it. Used by
      # one thread; its folder stays when something is wrong.
      class Run
        include Wait

        class Error < StandardError; end

        # How long a backlog may stay unchanged, and how many times as long it may take in all.
        DRAIN_SECONDS = 60
        LONGEST_DRAIN = 10
        SAMPLE_MS = 200

        # @return [Integer] monotonic µs: when all members had partitions; when the faults had ended
        attr_accessor :settled_at
        attr_reader :finishing_at, :id, :cluster, :folder, :chronicle, :applications, :nemesis, :random, :measured

        # @param name [String] of the case
        # @param cluster [KafkaCluster]
        # @param seed [Integer]
        # @param folder [String] it is created
        # @param out [IO, nil] where people see what happens
        # @param time [Float] factor for the length of phases
        def initialize(name, cluster:, seed:, folder:, out: nil, time: 1.0)
          @cluster = cluster
          @folder = folder
          @random = Random.new(seed)
          @time = time
          FileUtils.mkdir_p(folder)
          @id = unused("#{name.downcase}-#{seed.to_s(36)}")
          @chronicle = Chronicle.new(File.join(folder, "chronicle"), out: out)
          @nemesis = Nemesis.new(self)
          @applications = []
          @members = []
          @producers = []
          @topics = []
          @expectations = []
          @measured = {}
        end

        def bootstrap_servers = cluster.bootstrap_servers
        def agent = cluster.agent
        def say(text) = chronicle.say(text)

        # @return [String] the name of a topic of this run
        def topic(name, partitions: 6, config: {})
          full = "#{id}-#{name}"
          cluster.create_topic(full, partitions: partitions, config: config)
          @topics << full
          full
        end

        # @return [Application]
        def application(name, **plan)
          Application.new(self, name, **plan).tap { |made| @applications << made }
        end

        # Starts a process that produces until {#finish}.
        # @param topics [Array<Hash>] see programs/producer.rb
        # @return [Member]
        def feed(*topics, name: "producer#{@producers.size + 1}", kafka: {}, **plan)
          kafka = {"bootstrap.servers": bootstrap_servers, **(plan[:defaults] ? {} : {"enable.idempotence": true}), **kafka}
          plan = {application: name, folder: folder, kafka: kafka, topics: topics, seed: @random.rand(1 << 30), **plan}
          spawn(name, "producer.rb", plan).tap { |one| @producers << one }
        end

        # @return [Member]
        def spawn(name, program, plan, env: {})
          Member.new(name, program: program, plan: plan, folder: folder, chronicle: chronicle,
            env: {**cluster.env, **env}).tap { |one| @members << one }
        end

        # @param application [Application]
        # @return [Application] with that many members, all of which have partitions
        def join(application, count, **more)
          count.times { application.start(**more) }
          await_members(application, count)
          application
        end

        # Waits until a group has that many members with partitions, as its coordinator sees it.
        def await_members(application, count, seconds: 60)
          seen = nil
          wait_until(seconds, "#{count} members of #{application.group}", state: -> { [seen, application.members.map(&:tail)] },
            every: 0.1) do
            raise_on_early_end(application)
            seen = agent.call(:group, group: application.group)
            seen["state"].casecmp?("stable") && seen["members"].count { |member| member["partitions"].any? } == count
          rescue ClusterAgent::Error => error
            seen = error.message
            false
          end
        end

        # A member that ends instead of joining isn't waited for.
        def raise_on_early_end(application)
          ended = application.members.reject(&:alive?)
          return unless ended.any? && ended.size == application.members.size

          ends = ended.map(&:ending).uniq.join(", ")
          raise Error, "all members of #{application.name} have ended (#{ends}):\n#{ended.last.tail(8)}"
        end

        # Committed offsets are sampled from here on.
        def sample
          @samples = File.join(folder, "samples")
          FileUtils.touch(@samples)
          agent.call(:sample, groups: applications.map(&:group), path: @samples, every_ms: SAMPLE_MS)
        end

        # Lets time pass.
        # @param seconds [Numeric] before scaling; a run may scale it
        def pass(seconds) = Wait.observe_for(seconds * @time)

        # A number of rounds, scaled like time.
        def rounds(count) = [(count * @time).round, 1].max

        # A condition that must hold in the end in addition to the invariants. The block gets the {Checker} and returns
        # a problem, or nil.
        def expect(name, &block) = @expectations << [name, block]

        # Ends the faults: brokers are healed, producers finish, members continue until everything is consumed.
        # @param stop [Boolean] whether members are stopped
        def finish(stop: true, drain: DRAIN_SECONDS, heal: true)
          @finishing_at = Journal.now
          heal_cluster if heal
          stop_producers
          @undrained = await_drained(drain)
          ask_what_they_do if @undrained.any?
          @idle = measure_idle
          @stops = stop ? stop_members : {}
          @left = @members.select { |member| !member.alive? }.flat_map { |member|
            member.descendants.map { |one|
              [member.name, one.pid]
            }
          }
        end

        # @return [Result]
        def result(**options)
          agent.call(:end_sample, path: @samples) if @samples
          database = load
          checker = Checker.new(database, **options)
          Result.new(self, checker, problems(checker))
        end

        # Ends all processes of the run.
        def close
          @members.each(&:close)
          @nemesis.close
          chronicle.close
        end

        def members = @members.dup
        def producers = @producers.dup

        # Reads the log with Kafka's own consumer.
        # @return [String] path of Reader.java's output
        def read(topic, isolation: "read_committed")
          path = File.join(folder, "log-#{topic}")
          agent.call(:read, topic: topic, isolation: isolation, path: path, seconds: 180)
          path
        end

        # @return [Array<String>] partitions that the running applications haven't consumed to their ends
        def lagging
          applications.select { |application| application.alive.any? }.flat_map do |application|
            committed = agent.call(:committed, group: application.group)
              .to_h { |row| [row.values_at("topic", "partition"), row["offset"]] }
            application.topics.flat_map { |name| behind(application, name, committed) }
          end
        rescue ClusterAgent::Error => error
          [error.message]
        end

        private

        # The same for the same seed, as long as no earlier run has left its topics on this cluster.
        def unused(id)
          taken = agent.call(:topics).map { |name| name[/\A\w+-\w+(?=-)/] }
          [id, *("a".."zz").map { |more| "#{id}#{more}" }].find { |candidate| !taken.include?(candidate) }
        end

        # Moves leaders and coordinators back to their brokers.
        def heal_cluster
          nemesis.end_all
          nemesis.fault("brokers heal") { cluster.heal }
        end

        def stop_producers
          @producers.select(&:alive?).each(&:hang_up)
          @producers.each { |producer| producer.await_end(150) }
        end

        # A busy machine needs long for a backlog: it only has to become smaller.
        # @param seconds [Numeric] how long it may stay unchanged
        # @return [Array<String>] partitions that aren't consumed
        def await_drained(seconds)
          limit = Journal.now + (seconds * LONGEST_DRAIN * 1_000_000)
          left = lagging
          until left.empty? || Journal.now > limit
            before = left
            wait_until(seconds, every: 0.25) { (left = lagging) != before }
          end
          left
        rescue TimeoutError
          left
        end

        # Writes stacks of all threads to the members' logs, and the last actions of partitions to files.
        def ask_what_they_do
          applications.flat_map(&:alive).each { |member| member.signal("TTIN") }
          Wait.observe_for(2)
        end

        def behind(application, name, committed)
          agent.call(:end_offsets, topic: name).filter_map do |partition, last|
            at = committed[[name, Integer(partition)]] || 0
            "#{application.name}: #{name}/#{partition} committed #{at} of #{last}" if at + application.may_hold < last
          end
        end

        # The CPU share of members that have nothing to do, as a share of a core.
        def measure_idle
          pids = applications.flat_map(&:alive).map(&:pid)
          before = pids.to_h { |pid| [pid, cpu(pid)] }
          return {} if pids.empty?

          Wait.observe_for(1.5)
          pids.to_h { |pid| [pid, ((cpu(pid) - before[pid]) / 1.5).round(3)] }
        end

        public def cpu(pid)
          File.read("/proc/#{pid}/stat").rpartition(") ").last.split.values_at(11, 12).sum(&:to_i) / 100.0
        rescue SystemCallError
          0
        end

        def stop_members
          alive = applications.flat_map(&:alive)
          alive.map { |member| Thread.new { [member.name, member.stop.round(1)] } }.to_h(&:value)
        end

        def load
          database = Database.new
          applications.each { |application| database.add_application(**application.to_row) }
          endings = @members.to_h { |member| [member.pid, [member.ending || "runs", member.ended_at]] }
          Dir[File.join(folder, "*.journal")].sort.each do |path|
            ending, ended = endings[Integer(path[/-(\d+)\.journal\z/, 1])]
            database.add_journal(path, ending: ending, ended: ended)
          end
          logs.each { |name| database.add_log(name, read(name)) }
          database.add_samples(@samples) if @samples
          chronicle.signals.each { |sent| database.add_signal(sent.pid, sent.name, sent.at) }
          chronicle.faults.each { |fault| database.add_fault(fault.kind, fault.target, fault.began, fault.ended) }
          database.finish
        end

        def logs
          applications.flat_map { |one| [*one.topics, one.dead, one.plan[:out]] }.compact.uniq
        end

        # Problems other than those in journals and log.
        def problems(checker)
          [
            *crashes, *endings,
            *@undrained.to_a.map { |what| Checker::Violation.new("i9_not_drained", nil, what) },
            *@idle.to_h.select { |_pid, share| share > 0.3 }
              .map { |pid, share| Checker::Violation.new("i9_busy_when_idle", name_of(pid), "#{share} of a core") },
            *@left.to_a.map { |name, pid| Checker::Violation.new("i10_left_behind", name, "process #{pid}") },
            *@expectations.filter_map { |name, block| block.call(checker)&.then { |what| Checker::Violation.new(name, nil, what) } }
          ]
        end

        def name_of(pid) = @members.find { |member| member.pid == pid }&.name

        def crashes
          @members.flat_map { |member| member.crashes.first(3).map { |line| Checker::Violation.new("i11_crash", member.name, line.strip) } }
        end

        # An end that nobody ordered, or not in order.
        def endings
          @members.filter_map do |member|
            next if member.ending.nil? || member.expected_ends.include?(member.ending)
            next if killed?(member.pid) && member.ending == "signal KILL"
            next if member.ending == "signal TERM" && !member.begun?
            next if waited_for_another?(member) || lost_a_node?(member)

            Checker::Violation.new("i10_end", member.name, "#{member.ending}\n#{member.tail(6)}")
          end
        end

        # Its last commit waited for the answer to its own JoinGroup until its time was up, because the session of another member
        # that was killed or frozen before the stop hadn't ended: docs/reliability.md. KIP-848 groups have no JoinGroup.
        def waited_for_another?(member)
          return false unless member.ending == "exit 2" && member.tail.include?("wasn't acknowledged in time")
          application = applications.find { |one| one.members.include?(member) }
          stopped = stop_of(member)
          return false unless stopped && application&.session_ms
          (application.members - [member]).any? { |one| chronicle.silent?(one.pid, stopped.at, application.session_ms * 1_000) }
        end

        # One of its nodes was killed while it stopped.
        def lost_a_node?(member)
          stopped = stop_of(member)
          member.ending == "exit 2" && !stopped.nil? && chronicle.killed_process?(member.name, stopped.at)
        end

        # @return [Chronicle::Sent, nil]
        def stop_of(member) = chronicle.signals.find { |sent| sent.pid == member.pid && sent.name == "TERM" }

        def killed?(pid) = chronicle.signals.any? { |sent| sent.pid == pid && sent.name == "KILL" }
      end
    end
  end
end
