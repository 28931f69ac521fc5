# frozen_string_literal: true

require "penstock"
require "penstock/admin"
require "penstock/native/admin"
require_relative "../delivering"
require_relative "../killers"

module Penstock
  # Records that kill the process are found and quarantined, and no other record with them. On both brokers.
  module KillersScenarios
    include TestSupport::Delivering

    # Two lives that aren't counted, three counted ones, and the one in which the record is quarantined.
    LIVES = 6

    WAYS = {"SIGKILL" => "KILL", "exit!" => "exit!", "a segmentation fault" => "SEGV",
            "a payload that can't be deserialized" => "deserialize"}.freeze

    def self.add_to(tests)
      add_killers(tests)
      add_stuck(tests)
      add_others(tests)
      add_many(tests)
    end

    def self.add_killers(tests, ways = WAYS)
      ways.each do |how, payload|
        tests.test "a record that ends the process by #{how} is quarantined after three crashes alone, the others are served" do
          quarantined(payload)
        end
      end

      tests.test "where keys run in parallel the record that kills is found, and no other is quarantined" do
        quarantined("KILL", by: "key")
      end
    end

    def self.add_stuck(tests)
      tests.test "an endless loop that outlasts its time limit ends the process, and its record is quarantined" do
        quarantined("stuck", time_limit: 300)
      end
    end

    def self.add_others(tests)
      tests.test "without dead letters a route with quarantine skips the record" do
        @killers = killers(payloads(10, 4 => "KILL"), dead: nil)
        @killers.run(LIVES) { @killers.offsets("K") == [4] && served?(10, but: [4]) }
        assert_equal 5, @killers.offsets("S").count(4)
      end

      tests.test "a stack overflow and an endless loop within the time limit are errors like any other" do
        @killers = killers(payloads(10, 3 => "overflow", 6 => "loop"), max_retries: 1, time_limit: 300)
        @killers.run(1) { @killers.offsets("D").sort == [3, 6] && served?(10, but: [3, 6]) }
        assert_empty @killers.offsets("Q")
      end

      tests.test "a process of the pool that dies names its record: three times, and nothing else is suspected" do
        @killers = killers(payloads(10, 4 => "KILL"), processes: true, max_retries: 50)
        @killers.run(1) { @killers.offsets("D") == [4] && served?(10, but: [4]) }
        assert_equal [[4], [], 3], [@killers.offsets("Q"), @killers.offsets("W"), @killers.offsets("S").count(4)]
      end
    end

    def self.add_many(tests)
      tests.test "ten kills in a row that no record causes quarantine no record" do
        count = 400
        @killers = killers(payloads(count), work_ms: 10)
        10.times { |round| kill_after(round) }
        @killers.run(1, seconds: 60) { served?(count) }
        assert_equal [[], [], []], %w[Q D K].map { |kind| @killers.offsets(kind) }
        refute_empty @killers.offsets("W"), "it was suspected, and cleared"
      end
    end

    def teardown = @killers&.close

    def create_topic(name, partitions)
      admin = Native::Admin.new({"bootstrap.servers" => bootstrap_servers})
      admin.create_topics([[name, partitions, 1, {}]], 20_000)
    ensure
      admin&.close
    end

    private

    def quarantined(payload, **options)
      @killers = killers(payloads(10, 4 => payload), **options)
      @killers.run(LIVES) { @killers.offsets("D") == [4] && served?(10, but: [4]) }
      assert_equal [LIVES, [4], [4]], [@killers.lives, @killers.offsets("Q"), @killers.offsets("D")]
      assert_equal 5, @killers.offsets("S").count(4) unless payload == "deserialize"
    end

    # Each life ends some records before it is killed.
    def kill_after(round)
      before = @killers.offsets("E").size
      @killers.start
      wait_until(30, "progress in life #{round}", state: -> { @killers.tail }) { @killers.offsets("E").size > before + 3 }
      assert @killers.stop("KILL").signaled?
    end

    def served?(count, but: []) = ((0...count).to_a - but - @killers.offsets("E")).empty?

    def payloads(count, special = {}) = Array.new(count) { |index| special.fetch(index, "ok") }

    def killers(payloads, **plan)
      topic, dead = unique("killers"), unique("dead")
      [topic, dead].each { |name| create_topic(name, 1) }
      produce(topic, payloads)
      TestSupport::Killers.new(kafka: kafka, topic: topic, dead: dead, group: unique("g"), **plan)
    end

    def produce(topic, payloads)
      messages = payloads.each_with_index.map { |payload, index| {topic: topic, payload: payload, key: index.to_s} }
      deliver(kafka.slice(:"bootstrap.servers"), messages)
    end
  end
end
