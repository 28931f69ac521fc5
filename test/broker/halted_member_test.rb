# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/native/admin"
require "penstock/producer"
require "support/command_line"
require "support/real_broker"
require "support/served"

module Penstock
  # Two processes share a group; one of them stops working without leaving it, by SIGSTOP or TSTP. The other one notices nothing.
  class HaltedMemberTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::CommandLine
    include TestSupport::Served

    # As much of an embedded broker as servers need here.
    Broker = Struct.new(:kafka) do
      def create_topic(name, partitions:)
        admin = Native::Admin.new(kafka.transform_keys(&:to_s))
        admin.create_topics([[name, partitions, 1, {}]], 10_000)
      ensure
        admin&.close
      end
    end

    def cluster = @cluster ||= Broker.new({"bootstrap.servers": bootstrap_servers})

    # @param session_ms [Integer] after which the group does without a member that is silent
    # @return [Array<Served::Process>] two servers, the first of which has partition 0
    def members(session_ms)
      kafka = {**cluster.kafka, "session.timeout.ms": session_ms, "heartbeat.interval.ms": 300}
      env = {"ASSIGN" => nil, "GROUP" => unique("group"), "KAFKA" => JSON.generate(kafka), **journal}
      both = Array.new(2) { serve("server", env: env) }
      both.first.await("a partition each") { both.map { |server| owned(server) }.sort == [[0], [1]] }
      both.sort_by { |server| owned(server) }
    end

    # @return [Array<Array(String, Array<Integer>)>] what its rebalances did, in their order
    def rebalances(server)
      server.log.scan(/: (assigned|revoked|lost) #{@topic} ([\d, ]+)/)
        .map { |verb, list| [verb, list.split(",").map { |number| Integer(number) }] }
    end

    def owned(server)
      rebalances(server).reduce([]) { |owned, (verb, list)| (verb == "assigned") ? owned + list : owned - list }.sort
    end

    # @return [Array<String>] what both did, in its order
    def lines = File.exist?(journal["JOURNAL"]) ? File.readlines(journal["JOURNAL"], chomp: true) : []

    # @return [Array<String>] records that were run
    def ended = lines.filter_map { |line| line[/^end (.*)/, 1] }

    def stop(*servers)
      servers.each { |server| server.signal(:TERM) }
      servers.each { |server| assert_equal 0, server.code, server.tail }
    end

    test "a process that is frozen for less than its session causes no rebalance, loses nothing and runs nothing twice" do
      frozen, other = members(20_000)
      produce("held", "a0")
      frozen.await("the held record") { lines.include?("begin held") }
      before = [frozen, other].map { |server| rebalances(server) }
      frozen.signal(:STOP)
      produce("a1")
      produce("b0", "b1", partition: 1)
      other.await("its records") { ended == %w[b0 b1] }
      release
      observe_for(3) { assert_equal %w[b0 b1], ended } # ten heartbeats
      frozen.signal(:CONT)
      frozen.await("all records") { ended.size == 5 }
      produce("a2")
      frozen.await("one more") { ended.include?("a2") }

      assert_equal before, [frozen, other].map { |server| rebalances(server) }
      stop(frozen, other)
      assert_equal %w[b0 b1 held a0 a1 a2], ended
      assert_equal 6, lines.grep(/^begin/).size
    end

    test "[TSTP quiet] a quiet process keeps its partition beyond its session; the other one gets it at the stop" do
      quiet, other = members(5_000)
      before = rebalances(other)
      produce("a0")
      quiet.await("its record") { ended == %w[a0] }
      quiet.signal(:TSTP)
      quiet.await_log(/shutdown hook/)
      produce("left")
      produce("b0", partition: 1)
      other.await("its record") { ended == %w[a0 b0] }
      observe_for(6) { assert_equal [before, %w[a0 b0]], [rebalances(other), ended] }
      stop(quiet)
      other.await("what was left") { ended == %w[a0 b0 left] }

      assert_equal [0, 1], owned(other)
      stop(other)
    end
  end
end
