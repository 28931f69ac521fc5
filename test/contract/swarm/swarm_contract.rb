# frozen_string_literal: true

require "support/swarm/process"

module Penstock
  # Behaviour of a swarm with every kind of node: processes forked by the supervisor, by a mold, or threads of one process. The
  # including test case defines `spawner`: "forked", "mold" or "threads".
  module SwarmContract
    PROGRAM = File.expand_path("../../support/swarm/container.rb", __dir__)

    def self.add_to(base) = RULES.each { |name, body| base.test(name, &body) }
    def self.rule(name, &body) = RULES << [name, body]
    RULES = []

    def setup
      super
      @runs = []
    end

    def teardown
      @runs.each(&:close)
      super
    end

    # @param patience [Integer] ms until a node that was asked to stop is killed
    def swarm(behaviour = {}, patience: 30_000, **settings)
      plan = {spawner: spawner, behaviour: behaviour, patience: patience, swarm: settings}
      @run = TestSupport::SwarmRun::Process.new(plan, program: PROGRAM).tap { |run| @runs << run }
    end

    # @return [Array<String>] lines of the journal that begin with the word
    def told(*words) = @run.journal.select { |line| line.first(words.size) == words }

    def await(count, *words) = @run.await("#{count} × #{words.join(" ")}") { told(*words).size >= count }

    def ends_with(code, signal: :TERM)
      @run.signal(signal) if signal
      assert_equal code, @run.await_end, @run.tail
      @run.await_nobody
    end

    rule "all nodes are spawned once and report, and the swarm is ready; on a stop all end in order" do
      swarm
      await(1, "ready")
      assert_equal [1, 1], %w[0 1].map { |node| told("began", node).size }
      ends_with(0)

      assert_equal %w[0 1], told("told").map(&:last).sort
      assert_equal [%w[exit code 0]] * 2, told("node_ended").map { |line| line.drop(2) }
    end

    rule "the swarm ends with the worst exit code of its nodes" do
      swarm({"0" => %w[5]})
      await(1, "ready")
      ends_with(5)
      assert_equal [%w[exit code 5]], told("node_ended", "0").map { |line| line.drop(2) }
    end

    rule "a node that doesn't stop is killed at its time limit, and the exit code shows it" do
      swarm({"1" => %w[stubborn]}, patience: 500)
      await(1, "ready")
      ends_with(2)

      assert_equal 1, told("terminating", "1").size
      assert_equal [%w[SIGKILL]], told("node_ended", "1").map { |line| line.drop(2) }
    end

    rule "[swarm hang] a silent node is asked to stop, killed, and replaced" do
      swarm({"0" => %w[silent obeys]}, patience: 500, liveness_timeout: 1_500)
      await(2, "began", "0")
      await(1, "ready")
      assert_match(/it sent no report/, told("stopping", "0").first.join(" "))
      assert_equal %w[SIGKILL], told("node_ended", "0").first.drop(2)
    end

    rule "a node that repeatedly dies at its start is held down with the reason, and the others continue" do
      swarm({"0" => %w[dies]}, restart_backoff: 20, restart_backoff_max: 40)
      await(1, "held_down", "0")
      assert_equal %w[exit code 9], told("held_down", "0").first.drop(2)
      assert_equal [1, 0], [told("began", "1").size, told("node_ended", "1").size]
      ends_with(4)
    end

    rule "a rolling restart replaces one node after another" do
      swarm
      await(1, "ready")
      @run.signal(:USR2)
      await(2, "began", "1")
      order = @run.journal.select { |word, *| %w[began node_ended].include?(word) }.drop(2).map { |line| line.first(2) }

      assert_equal [%w[node_ended 0], %w[began 0], %w[node_ended 1], %w[began 1]], order
      ends_with(0)
    end

    rule "a quiet swarm replaces no node" do
      swarm({"0" => %w[tired]})
      await(1, "ready")
      @run.signal(:TSTP)
      await(1, "node_ended", "0")
      ends_with(0)
      assert_equal 2, told("began").size
    end
  end
end
