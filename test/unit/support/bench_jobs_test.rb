# frozen_string_literal: true

require "test_helper"
require_relative "../../../benchmark/harness/options"
require_relative "../../../benchmark/workloads/jobs"

module Penstock
  # The adapters that the workload of jobs compares Penstock's with.
  class BenchJobsTest < TestCase
    DATABASES = ["Sidekiq", "Solid Queue"].freeze

    test "other adapters run only with --peers, on as many threads as Penstock" do
      peers = %w[Karafka Sidekiq Solid].product(["no-op jobs", "1 ms jobs"])
      peers = peers.map { |library, jobs| side("#{library}#{" Queue" if library == "Solid"} #{jobs}") }

      assert_equal [true], peers.map { |peer| options("--peers").wanted?(peer) }.uniq
      assert_equal [false], peers.map { |peer| options.wanted?(peer) }.uniq
      assert_equal [side("1 ms jobs").settings], peers.map(&:settings).uniq
    end

    test "the rate of 1 ms jobs has a bound against Sidekiq and Solid Queue, that of no-op jobs is shown" do
      figures = figures("1 ms jobs" => 6_000, "no-op jobs" => 9_000, "Sidekiq 1 ms jobs" => 4_000, "Sidekiq no-op jobs" => 3_000,
        "Solid Queue 1 ms jobs" => 750, "Solid Queue no-op jobs" => 1_000)

      assert_equal [[1.5, :holds], [8.0, :misses]], against(figures, "1 ms jobs")
      assert_equal [[3.0, :seen], [9.0, :seen]], against(figures, "no-op jobs")
    end

    test "a side that couldn't run leaves its figure out" do
      figures = figures("1 ms jobs" => 6_000, "Sidekiq 1 ms jobs" => nil, "Solid Queue 1 ms jobs" => 500)

      assert_equal [[nil, :absent], [12.0, :holds]], against(figures, "1 ms jobs")
    end

    private

    def workload = Bench::Jobs.new(broker: nil, topics: nil, c_programs: nil, options: options)

    def options(*arguments) = Bench::Options.parse(arguments)

    def side(name) = workload.sides.find { |side| side.name == name } || flunk("no side #{name}")

    # @param rates [Hash<String, Integer>] of sides
    def figures(rates)
      results = workload.sides.to_h { |side| [side, rates.key?(side.name) ? [{"rate" => rates[side.name]}] : []] }
      workload.figures(results)
    end

    def against(figures, jobs)
      DATABASES.map { |library| figures.find { |figure| figure.name == "#{jobs} against #{library}" } }
        .map { |figure| [figure.value, figure.verdict] }
    end
  end
end
