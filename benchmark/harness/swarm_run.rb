# frozen_string_literal: true

require "fileutils"
require "securerandom"
require_relative "kernel_facts"
require_relative "ruby_side"

module Bench
  # A server or a swarm that runs while the harness measures, and records what it does in a journal. {#stop} ends it
  # with all its descendants.
  class SwarmRun
    # A line: the action, who did it, details, and the time.
    Entry = Struct.new(:word, :pid, :rest, :at_ns)

    attr_reader :child

    # @param parameters [Hash] see sides/penstock/swarm.rb
    def initialize(parameters, journal: nil)
      @own = journal.nil?
      @journal = journal || SwarmRun.journal
      @child = RubySide.spawn("penstock/swarm.rb", {**parameters, journal: @journal})
    end

    # Records at an even rate until it is stopped.
    # @return [Child]
    def self.feed(broker, topic, rate:, partitions:)
      RubySide.spawn("penstock/feed.rb",
        {bootstrap: broker.bootstrap, topics: [topic], rate: rate, partitions: partitions}).tap do |child|
        child.await("feeding", within: 30)
      end
    end

    def self.journal
      FileUtils.mkdir_p(File.join(RubySide::ROOT, "benchmark/tmp"))
      File.join(RubySide::ROOT, "benchmark/tmp/#{SecureRandom.hex(6)}.journal")
    end

    # @return [Array<Entry>] complete lines
    def journal
      return [] unless File.exist?(@journal)
      File.read(@journal).each_line.filter_map do |line|
        word, pid, *rest, at = line.split
        Entry.new(word, pid.to_i, rest, at.to_i) if line.end_with?("\n")
      end
    end

    # @return [Array<Entry>]
    def entries(word) = journal.select { |entry| entry.word == word }

    # @return [Integer, nil] pid of the node's present process
    def node(number) = entries("running").reverse.find { |entry| entry.rest.first == number.to_s }&.pid

    # @return [Array<Integer>] all its processes
    def pids = [child.pid, *KernelFacts.below(child.pid)]

    def await(what, within: 60)
      deadline = Bench.now_ns + (within * 1_000_000_000)
      until (found = yield)
        raise child.failure("ended before #{what}") if child.ended?
        raise child.failure("shows no #{what}") if Bench.now_ns > deadline
        sleep 0.02
      end
      found
    end

    # In order where possible, and then in any case.
    def stop
      below = KernelFacts.below(child.pid)
      child.signal("TERM")
      child.wait_exactly(within: 15)
    rescue SystemCallError, RuntimeError
      child.stop
    ensure
      below&.each { |pid| kill(pid) }
      child.stop
      FileUtils.rm_f(@journal) if @own
    end

    private

    # Only processes that are still ours: those with this parent's pipe.
    def kill(pid)
      ::Process.kill("KILL", pid) if File.read("/proc/#{pid}/environ").include?("BENCH_SPAWNED_NS=#{child.spawned_ns}")
    rescue SystemCallError
      nil
    end
  end
end
