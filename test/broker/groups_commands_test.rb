# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock"
require "penstock/admin"
require_relative "../support/command_line"
require_relative "../support/real_broker"

module Penstock
  # `penstock groups …` and `configs …` as a user runs them, on a real broker.
  class GroupsOnBrokerTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::RealBroker

    # Completes every record but those of the key "slow", which waits until it is released.
    class Consumer < BaseConsumer
      RAN = Queue.new
      GATE = Queue.new

      def consume
        messages.each do |message|
          GATE.pop if message.key == "slow"
          RAN << message.offset
        end
      end
    end

    def setup
      super
      @name = unique("groups")
      @env = {"KAFKA_BOOTSTRAP_SERVERS" => bootstrap_servers}
      Consumer::RAN.clear
      Consumer::GATE.clear
      admin { |admin| admin.create_topic(@name, 1, 1) }
    end

    def teardown
      admin do |admin|
        admin.delete_topic(@name)
        names = admin.groups.map { |row| row[:group] }.grep(/\A#{@name}/)
        admin.delete_consumer_group(*names) if names.any?
      end
      super
    end

    def admin(&block) = Admin.open("bootstrap.servers": bootstrap_servers, &block)
    def groups(*argv) = penstock("groups", *argv, env: @env)

    # Runs an application until the block is true, and stops it.
    def consumed_by(group, until_true)
      application = Application.new(group) do |config|
        # The client of a stopped application stays open until its slow record has ended: it mustn't create the deleted topic.
        config.kafka = {"bootstrap.servers": bootstrap_servers, "auto.offset.reset": "earliest",
                        "allow.auto.create.topics": false}
        config.group_id = group
        config.shutdown_timeout = 6_000
        config.logger = Logger.new(File::NULL)
      end
      topic = @name
      application.routing.draw do
        topic(topic) do
          consumer Consumer
          parallel by: :key
        end
      end
      server = Thread.new { application.run!(traps: false) }
      wait_until(30, "records", state: -> { Consumer::RAN.size }) { until_true.call }
      yield if block_given?
    ensure
      application.stop!
      server&.join
    end

    def ran = Array.new(Consumer::RAN.size) { Consumer::RAN.pop }.sort

    def produce(*keys)
      producer = Producer.new { |config| config.kafka = {"bootstrap.servers": bootstrap_servers} }
      producer.produce_many_sync(keys.map { |key| {topic: @name, key: key, payload: "{}"} })
      producer.close
    end

    # "slow" is still running when the stop's time ends: what its commit lists as complete is beyond it.
    def group_with_work_out_of_order
      produce("a", "slow", "b", "c", "d")
      consumed_by(@name, -> { Consumer::RAN.size == 4 })
      assert_equal [0, 2, 3, 4], ran
    end

    test "a group with work completed out of order, copied: the copy runs nothing twice" do
      group_with_work_out_of_order
      found = groups("copy", @name, "#{@name}-copy", "--yes")
      assert_equal ["copied 1 offset of group #{@name} to #{@name}-copy", 0], [found.out.lines.last.chomp, found.code]

      Consumer::GATE << true
      produce("e")
      consumed_by("#{@name}-copy", -> { Consumer::RAN.size == 2 })
      assert_equal [1, 5], ran
    end

    test "with members: refused; without: moved by time, offset and distance" do
      produce("a", "b", "c")
      consumed_by(@name, -> { Consumer::RAN.size == 3 }) do
        refused = groups("reset", @name, "--to", "earliest", "--yes")
        assert_equal 1, refused.code
        assert_match(/has 1 member/, refused.err)
        assert_match(/has 1 member/, groups("delete", @name, "--yes").err)
        assert_match(/\S+ +\/\S+ +- +#{@name} 0\n/, groups("show", @name).out)
      end

      assert_match(/#{@name} +0 +3 +0 +-3/, groups("reset", @name, "--to", "1h", "--yes").out)
      assert_equal 0, committed(@name)
      groups("reset", @name, "--by", "2", "--yes")
      assert_equal 2, committed(@name)
      groups("reset", @name, "--to", "1", "--yes")
      assert_equal 1, committed(@name)
      assert_match(/has no offset 99/, groups("reset", @name, "--to", "99", "--yes").err)
      assert_equal 1, committed(@name)
    end

    test "renamed, listed, looked at, deleted" do
      produce("a", "b")
      consumed_by(@name, -> { Consumer::RAN.size == 2 })
      produce("c")
      assert_equal 0, groups("rename", @name, "#{@name}-new", "--yes").code

      rows = JSON.parse(groups("list", "--json").out).select { |row| row["group"].start_with?(@name) }
      assert_equal [["#{@name}-new", "Empty", 0, 1]], rows.map { |row| row.values_at("group", "state", "members", "lag") }
      triage = groups("triage", "#{@name}-new", "--detailed-exitcode")
      assert_equal 2, triage.code
      assert_match(/\Ared +#{@name}-new has no members, and 1 record to consume; brokers delete its offsets 7 days after/,
        triage.out)
      assert_equal 0, groups("delete", "#{@name}-new", "--yes").code
      assert_match(/\Athere is no group #{@name}-new;/, groups("show", "#{@name}-new").err)
    end

    test "settings are shown, set and unset; a value that brokers refuse changes nothing" do
      set = penstock("configs", "set", "topic", @name, "retention.ms=86400000", "--yes", env: @env)
      assert_match(/\Aretention\.ms: -?\d+ → 86400000\nchanged topic #{@name}\n/, set.out)
      assert_match(/retention\.ms +86400000 +topic/, penstock("configs", "show", "topic", @name, env: @env).out)

      refused = penstock("configs", "set", "topic", @name, "retention.ms=soon", "--yes", env: @env)
      assert_equal 1, refused.code
      assert_match(/Invalid value soon/, refused.err)
      penstock("configs", "unset", "topic", @name, "retention.ms", "--yes", env: @env)
      refute_match(/ topic$/, penstock("configs", "show", "topic", @name, env: @env).out)
    end

    private

    def committed(group) = admin { |admin| admin.read_committed_offsets(group, {@name => [0]}).first[:offset] }
  end
end
