# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/testing/cluster"
require "support/ruby_program"

module Penstock
  class RecycledPidTest < TestCase
    PROGRAM = File.expand_path("../support/swarm/recycled_pids.rb", __dir__)
    NAMESPACE = %w[unshare --pid --fork --kill-child --mount-proc].freeze

    def namespaces?
      system(*NAMESPACE, "test", "-w", "/proc/sys/kernel/ns_last_pid", out: File::NULL, err: File::NULL)
    end

    def in_namespace(plan)
      TestSupport::RubyProgram.run("load ARGV.shift", PROGRAM, JSON.generate(plan), prefix: NAMESPACE,
        timeout: 60 * TestSupport::Wait.busy)
    end

    test "T06: a process that gets the pid of a node that has died gets none of its signals, with pidfds and without" do
      skip "needs root and pid namespaces" unless namespaces?
      Testing::Cluster.start(topics: {"t" => 2}) do |cluster|
        output, result = in_namespace({kafka: cluster.kafka, group: "g", topics: {"t" => nil}, assign: true})

        assert_predicate result, :success?, output
        expected = ["with pidfds", "without pidfds"].flat_map do |kind|
          none = "received [], alive"
          refused = "sent [false, false, false, false, false], #{none}"
          ["#{kind}, waited for by handle: #{refused}", "#{kind}, waited for by somebody: #{refused}",
            "#{kind}, a swarm that ended with 0: sent [], #{none}"]
        end
        assert_equal expected, output.lines(chomp: true)
      end
    end
  end
end
