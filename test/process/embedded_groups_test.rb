# frozen_string_literal: true

require "test_helper"
require "json"
require "support/embedded_broker"
require "support/served"

module Penstock
  # Servers in processes of their own that share a group on one embedded broker: they join, stop, start again, are killed.
  # Sessions of classic groups last five minutes where nobody is killed, so a rebalance that waits for their end fails.
  class EmbeddedGroupsTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    # The process writes how many partitions it has after each change.
    MORE = <<~'RUBY'
      $stdout.sync = true
      %w[assigned revoked].each do |event|
        PenstockApp.monitor.subscribe("rebalance.partitions_#{event}") do
          puts "has #{PenstockApp.assignments.values.sum(&:size)}"
        end
      end
    RUBY
    LONG = {"session.timeout.ms": 300_000}.freeze
    EAGER = {"partition.assignment.strategy": "range"}.freeze
    PROTOCOLS = {"cooperative-sticky" => [:classic, LONG], "eager" => [:classic, {**LONG, **EAGER}],
                 "KIP-848" => [:consumer, {}]}.freeze
    # Seconds. An idle machine starts a server and lets it join in 2.
    JOIN = 10

    def server(protocol, settings)
      @group ||= "g#{rand(1 << 40)}"
      kafka = cluster.kafka(group_protocol: protocol).merge(settings)
      serve("server", env: {"ASSIGN" => nil, "GROUP" => @group, "MORE" => MORE, "KAFKA" => JSON.generate(kafka)})
    end

    def assert_share(server, count, deadline = JOIN)
      share = -> { server.log.scan(/^has (\d+)$/).flatten.last }
      server.await("a share of #{count}", deadline) { share.call == count.to_s }
      assert_equal count.to_s, share.call
    end

    def stop(server)
      server.signal(:TERM)
      assert_equal 0, server.code(JOIN), server.tail
    end

    PROTOCOLS.each do |name, (protocol, settings)|
      test "#{name}: a second server gets half of the partitions, and returns them when it stops; the next start waits for nobody" do
        first = server(protocol, settings)
        assert_share(first, 2)
        second = server(protocol, settings)
        [second, first].each { |one| assert_share(one, 1) }
        stop(second)
        assert_share(first, 2)
        stop(first)
        assert_share(server(protocol, settings), 2)
      end

      test "#{name}: the partitions of a killed server have a new owner when its session has ended" do
        short = settings.merge(settings.slice(:"session.timeout.ms").transform_values { 2_000 })
        first = server(protocol, short)
        assert_share(first, 2)
        second = server(protocol, short)
        [second, first].each { |one| assert_share(one, 1) }
        second.close
        assert_share(first, 2)
      end
    end
  end
end
