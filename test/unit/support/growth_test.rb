# frozen_string_literal: true

require "test_helper"
require "support/fault_runs/growth"

class GrowthTest < Penstock::TestCase
  Growth = Penstock::TestSupport::FaultRuns::Growth
  Member = Struct.new(:name, :usage, :assigned) do
    def assigned? = assigned
  end
  USAGE = {rss: 50 << 20, fds: 20, threads: 10}.freeze

  # @yieldparam second [Integer]
  # @yieldreturn [Hash] what differs from {USAGE}
  def problems(seconds, assigned_after: 0)
    growth = Growth.new
    (0..seconds).step(2) do |second|
      growth.sample([Member.new("member-1", {**USAGE, **yield(second)}, second >= assigned_after)], second)
    end
    growth.problems
  end

  test "what grows all the time is reported" do
    found = problems(1_200) do |second|
      {rss: USAGE[:rss] + (second * 30_000), fds: 20 + (second / 100), threads: 10 + (second / 100)}
    end

    assert_equal(%w[rss fds threads], found.map { |text| text[/member-1: (\w+) grows by \d+ an hour/, 1] })
  end

  test "threads that grow are named" do
    found = problems(1_200) do |second|
      {threads: 10 + (second / 100), names: {"rdk:broker1" => 1 + (second / 100), "rdk:main" => 1}}
    end

    assert_equal ["member-1: threads grows by 36 an hour (rdk:broker1 +11)"], found
  end

  test "a step in a short life isn't growth, although its slope is that of a leak" do
    assert_empty problems(600) { |second| (second > 400) ? {rss: USAGE[:rss] + (4 << 20), fds: 22, threads: 12} : {} }
  end

  test "three threads that are started in the middle of a life aren't growth: two workers more and a logger" do
    assert_empty problems(900) { |second| {threads: 10 + [(second - 350) / 60, 0].max.clamp(0, 3)} }
    refute_empty problems(900) { |second| {threads: 10 + [(second - 350) / 60, 0].max.clamp(0, 4)} }
  end

  test "what a process needs in its first two minutes doesn't count" do
    assert_empty problems(1_200) { |second| {rss: USAGE[:rss] + ([second, 120].min << 20)} }
  end

  test "the first minutes begin with the first partitions: a producer is opened for the first dead letter" do
    assert_empty problems(650, assigned_after: 210) { |second| (second < 210) ? {} : {fds: 28, threads: 20} }
  end

  test "a process that grows while it waits for partitions is reported, too" do
    found = problems(1_200, assigned_after: 1_000) { |second| {threads: 10 + (second / 50)} }

    assert_match(/\Amember-1 without partitions: threads grows by/, found.first)
  end

  test "limits, steps and warm-up can be stricter than those of a short run" do
    growth = Growth.new(limits: {rss: 1 << 20}, steps: {rss: 1 << 20}, warm_up_s: 600)
    (0..3_600).step(10) do |second|
      growth.sample([Member.new("member-1", {**USAGE, rss: USAGE[:rss] + ([second, 600].min << 14) + (second * 600)}, true)],
        second)
    end

    assert_equal ["member-1: rss grows by #{600 * 3_600} an hour"], growth.problems
  end

  test "a process that has lived for six minutes or less isn't judged" do
    assert_empty problems(360) { |second| {threads: 10 + second} }
  end
end
