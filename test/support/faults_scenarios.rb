# frozen_string_literal: true

require "penstock/admin"
require "penstock/native/admin"
require_relative "ledger/scenario"

module Penstock
  # A process kills itself at each named point while another one continues. Nothing is lost, records stay in order, and
  # what runs twice is only what the first had ended since the last commit that the broker has.
  module FaultsScenarios
    COUNT = 1_200
    PARTITIONS = 2
    KAFKA = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500, "auto.commit.interval.ms": 300}.freeze
    LETTERS = %i[before_dead_letter after_dead_letter_ack].freeze
    # At the nth time, so that some work is done and some is in progress.
    POINTS = {before_take: 6, after_take: 6, before_unit: 12, after_unit: 12, before_commit: 3, after_commit_sent: 3,
              after_commit_ack: 3, before_dead_letter: 2, after_dead_letter_ack: 2, before_answer_revoke: 1}.freeze

    def self.add_to(tests, points = POINTS.keys)
      points.each do |point|
        tests.test "kill -9 at #{point}: nothing lost, in order, and only what was done since the last commit runs twice" do
          killed_at(point, POINTS.fetch(point))
        end
      end
    end

    def teardown = @scenario&.close

    def start_scenario
      @group = unique("faults")
      @scenario = TestSupport::Ledger::Scenario.new(bootstrap_servers, topics: [unique("faults")], group: @group,
        partitions: PARTITIONS)
      @dead = unique("dead")
      create(@dead)
    end

    private

    def killed_at(point, nth)
      start_scenario
      produce(point)
      first = start("#{point}=kill@#{nth}")
      second = start_beside(first) if point == :before_answer_revoke
      @scenario.wait(first, 40)
      assert_equal 9, first.status.termsig, @scenario.tail(first)
      committed = committed_offsets
      second ||= start
      wait_for_the_rest(second)
      @scenario.stop(second)
      check(first, committed, point)
    end

    def start(faults = nil)
      @scenario.start(faults: faults, kafka: KAFKA, work_ms: 1, max_messages: 20, dead_letters: @dead)
    end

    # If they were started together, the group could assign the partitions once and for all: then no member is asked to
    # revoke one.
    def start_beside(first)
      PARTITIONS.times { |partition| @scenario.wait_for(first, "E") { |entry| entry.lane.last == partition } }
      start
    end

    def create(topic)
      admin = Native::Admin.new({"bootstrap.servers" => bootstrap_servers})
      admin.create_topics([[topic, 1, 1, {}]], 20_000)
    ensure
      admin&.close
    end

    # Records that fail permanently never end: they must be among the dead letters instead.
    def produce(point)
      @scenario.produce(COUNT / 2)
      poison if LETTERS.include?(point)
      @scenario.produce(COUNT / 2)
    end

    def poison
      @poisoned = Array.new(4) do |index|
        partition = index % PARTITIONS
        lane = [@scenario.topics.first, partition]
        offset = @scenario.produced[lane]
        @scenario.produce_one(partition, "poison")
        [*lane, offset]
      end
    end

    def wait_for_the_rest(worker)
      wanted = @scenario.produced.values.sum - poisoned.size
      wait_until(60, "end of #{wanted} records", state: -> { [@scenario.ended, @scenario.tail(worker)] }, every: 0.1) do
        @scenario.ended >= wanted && letters >= poisoned.size
      end
    end

    def poisoned = @poisoned || []

    def letters
      return 0 if poisoned.empty?
      Admin.open({"bootstrap.servers": bootstrap_servers}) { |admin| admin.read_watermark_offsets(@dead, 0).last }
    end

    def committed_offsets
      admin = Native::Admin.new({"bootstrap.servers" => bootstrap_servers})
      rows = admin.committed_offsets(@group, Array.new(PARTITIONS) { |partition| [@scenario.topics.first, partition] }, 20_000)
      rows.to_h { |topic, partition, offset| [[topic, partition], [offset, 0].max] }
    ensure
      admin&.close
    end

    def check(first, committed, point)
      journal = @scenario.journal
      assert_empty journal.lost(@scenario.produced) - poisoned, point
      assert_empty journal.out_of_order.first(5)
      journal.duplicates.each do |entry|
        assert_operator entry.offset, :>=, committed.fetch(entry.lane), "#{entry.lane.join("/")}: run again although committed"
      end
      assert_operator journal.duplicates.size, :<=, first.entries.count { |entry| entry.kind == "E" }
    end
  end
end
