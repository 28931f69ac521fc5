# frozen_string_literal: true

require "fileutils"
require "json"
require "securerandom"
require_relative "java_programs"
require_relative "journals"
require_relative "ruby_side"

module Bench
  # One scenario with failing brokers: a topic with a producer, and one group per library that consumes all of it, three
  # members each. All groups see the same faults at the same time. Each member is a process with a journal of the
  # records it consumed and a log (benchmark/tmp/failover/...). {#stop} ends all of them.
  class FailoverRun
    MEMBERS = 3
    PARTITIONS = 6
    RATE = 200
    KEYS = 1_000
    JAVA_SETTINGS = {"auto.offset.reset" => "earliest",
                     "partition.assignment.strategy" => "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"}.freeze
    START_S = 240
    DRAIN_S = 60
    STOP_S = 75

    # One library's group: its members in the order of their start, and those that ended without being stopped.
    Group = Struct.new(:library, :name, :members, :told, keyword_init: true) do
      def died = members.select { |member| member.ended? && !told.include?(member) }
    end

    attr_reader :groups, :folder

    # @param cluster [Cluster]
    # @param libraries [Array<String>] of "Penstock", "Karafka", "Java"
    # @param names [Hash{String => String}] group id of each library
    def initialize(cluster, libraries, names)
      @cluster = cluster
      @topic = "bench-failover-#{SecureRandom.hex(4)}"
      @folder = File.join(RubySide::ROOT, "benchmark/tmp/failover/#{Time.now.strftime("%H%M%S")}-#{@topic[-8..]}")
      @java = JavaPrograms.new(cluster.home)
      @groups = libraries.map { |library| Group.new(library: library, name: names.fetch(library), members: [], told: []) }
      @load = []
      FileUtils.mkdir_p(@folder)
    end

    # Returns when the members of each group share the partitions and each partition is consumed.
    def start
      @cluster.create_topic(@topic, partitions: PARTITIONS)
      @feed = child("feed", @java.command("Feed", path("feed.journal"), @cluster.bootstrap, @topic, RATE, KEYS))
      MEMBERS.times { |number| @groups.each { |group| group.members << member(group, number + 1) } }
      @groups.each { |group| await("#{group.library}'s group to share the partitions", START_S) { shared?(group) } }
    end

    # From now on gaps count.
    def begin_measuring
      @since_ns = Bench.now_ns
      note("measuring")
    end

    # Adds a line to the chronicle, and lets time pass.
    def note(what, then_wait: 0)
      File.write(path("chronicle"), "#{Time.now.strftime("%T.%L")} #{Bench.now_ns} #{what}\n", mode: "a")
      ends = Bench.now_ns + (then_wait * 1_000_000_000)
      while Bench.now_ns < ends
        @load << File.read("/proc/loadavg").to_f
        sleep(((ends - Bench.now_ns) / 1e9).clamp(0, 1))
      end
    end

    # Stops the last member of each group, at the same time; returns when all have ended.
    def leave
      leavers = @groups.map { |group| tell(group, group.members.last) }.compact
      leavers.each { |member| member.wait_exactly(within: STOP_S) }
    end

    # Ends the producer, and returns when all groups have consumed everything or no longer make progress.
    def finish
      @feed.signal("TERM")
      @feed.wait_exactly(within: 150)
      @total = @cluster.records(@topic)
      note("producer ended: #{@total} records")
      drain
      @died = @groups.to_h { |group| [group.library, group.died.map(&:status)] }
      @groups.each { |group| group.members.each { |member| tell(group, member) } }
      @exits = @groups.to_h { |group| [group.library, group.told.map { |member| exit_of(member) }] }
    end

    # @return [Hash] figures of one library
    def result(library)
      journals = journals(consumed(library))
      {"died" => @died.fetch(library).size, **times(journals), "lost" => journals.lost(@total), "doubled" => journals.doubled,
       "records" => @total, "exits" => @exits.fetch(library).join(","), "load" => Statistics.median(@load).round(1),
       "load_max" => @load.max, "folder" => @folder.delete_prefix("#{RubySide::ROOT}/")}
    end

    def stop
      [@feed, *@groups.flat_map(&:members)].compact.each(&:stop)
    end

    private

    def journals(consumed) = Journals.new(consumed, Journals.parse(read("feed.journal")), since_ns: @since_ns)

    # @return [Hash] when each record was consumed by the first of all groups
    def earliest = @earliest ||= journals(@groups.flat_map { |group| consumed(group.library) }).earliest

    def times(journals)
      {"stall_s" => journals.longest_gap, "kept_s" => journals.longest_gap(moved: false),
       "moved_s" => journals.longest_gap(moved: true), "kept_wait_s" => journals.longest_wait(moved: false),
       "moved_wait_s" => journals.longest_wait(moved: true), "behind_s" => journals.longest_behind(earliest),
       "silence_s" => journals.longest_silence,
       "fed_gap_s" => journals.longest_fed_gap}.transform_values { |seconds| seconds.round(3) }
    end

    def member(group, number)
      label = "#{group.library.downcase}-#{number}"
      return child(label, java_member(group, label)) if group.library == "Java"

      RubySide.spawn("#{group.library.downcase}/member.rb", {bootstrap: @cluster.bootstrap, group: group.name, topic: @topic,
        journal: path("#{label}.journal"), settings: {}}, log: path("#{label}.log"))
    end

    def java_member(group, label)
      settings = {"bootstrap.servers" => @cluster.bootstrap, "group.id" => group.name, **JAVA_SETTINGS}
      @java.command("Member", path("#{label}.journal"), @topic, *settings.map { |name, value| "#{name}=#{value}" })
    end

    def child(label, command)
      Child.new(command, env: {}, chdir: RubySide::ROOT, log: path("#{label}.log"))
    end

    # @return [Child, nil] nil if it had ended or was stopped before
    def tell(group, member)
      return if group.told.include?(member) || member.ended?

      group.told << member
      member.signal("TERM")
      member
    end

    # @return [Integer, String] exit code, or the signal that ended it
    def exit_of(member)
      member.wait_exactly(within: STOP_S)
      member.status.exitstatus || "signal #{member.status.termsig}"
    end

    # Whether within the last two seconds each member consumed from two partitions.
    def shared?(group)
      raise group.died.first.failure("ended at its start") if group.died.any?

      from = Bench.now_ns - 2_000_000_000
      owners = consumed(group.library).select { |record| record.at_ns > from }.to_h { |record| [record.partition, record.pid] }
      owners.values.tally.values == [PARTITIONS / MEMBERS] * MEMBERS
    end

    def drain
      deadline = Bench.now_ns + (DRAIN_S * 1_000_000_000)
      until @groups.all? { |group| consumed(group.library).uniq { |one| [one.partition, one.offset] }.size >= @total }
        break note("not everything was consumed within #{DRAIN_S} s") if Bench.now_ns > deadline

        note("draining", then_wait: 2)
      end
    end

    def consumed(library)
      Dir[path("#{library.downcase}-*.journal")].flat_map { |file| Journals.parse(File.read(file)) }
    end

    def await(what, within)
      deadline = Bench.now_ns + (within * 1_000_000_000)
      until yield
        raise "#{what}: not within #{within} s (#{@folder})" if Bench.now_ns > deadline
        sleep 0.5
      end
    end

    def read(name) = File.read(path(name))

    def path(name) = File.join(@folder, name)
  end
end
