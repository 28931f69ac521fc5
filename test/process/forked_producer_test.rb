# frozen_string_literal: true

require "test_helper"
require "support/ruby_program"
require "penstock/testing/cluster"

module Penstock
  # The application's producer in processes that are forked from one that has used it, as Puma's workers with `fork_worker`.
  class ForkedProducerTest < TestCase
    PROGRAM = <<~'RUBY'
      require "penstock"
      servers, id = ARGV
      app = Penstock::Application.new("shop") do |config|
        config.kafka = {"bootstrap.servers": servers}
        config.logger = Logger.new(File::NULL)
        config.producer { |own| own.kafka[:"transactional.id"] = id.sub("PID", Process.pid.to_s) } if id
      end
      send = lambda do |text|
        $stdout.syswrite("#{text} #{app.producer.produce_sync(topic: "orders", payload: text).offset}\n")
      rescue => error
        $stdout.syswrite("#{text} #{error.class.name} #{error.message}\n")
      end
      child = lambda do |&block|
        Process.wait(fork { block.call; app.producer.close unless id })
        $stdout.syswrite("#{$?.exitstatus}\n")
      end
      send.("parent")
      app.producer.monitor.subscribe("message.acknowledged") { |event| $stdout.syswrite("acknowledged #{event[:offset]}\n") } unless id
      child.call do
        send.("child")
        child.call { GC.start; send.("grandchild") }
      end
      send.("parent")
      app.producer.close
    RUBY

    def run_program(cluster, *arguments)
      out, result = TestSupport::RubyProgram.run(PROGRAM, cluster.kafka.fetch(:"bootstrap.servers"), *arguments, timeout: 30)
      assert_equal "ended with exit code 0", result.to_s, out
      out.lines(chomp: true)
    end

    test "each process sends with a client of its own, and the listeners of the first" do
      Testing::Cluster.start(topics: {"orders" => 1}) do |cluster|
        lines = run_program(cluster)
        assert_equal ["parent 0", "child 1", "grandchild 2", "0", "0", "parent 3"], lines.grep_v(/acknowledged/)
        assert_equal ["acknowledged 1", "acknowledged 2", "acknowledged 3"], lines.grep(/acknowledged/)
      end
    end

    test "with transactions only a process that has an id of its own" do
      Testing::Cluster.start(topics: {"orders" => 1}) do |cluster|
        same = run_program(cluster, "orders")
        assert_equal ["parent 0", "parent 2"], same.grep(/\Aparent/)
        assert_match(/\Achild Penstock::ForkedHandleError .* same transactional\.id, "orders"/, same.grep(/\Achild/).first)
        other = run_program(cluster, "orders-PID")
        assert_equal %w[parent child grandchild parent], other.grep(/ \d+\z/).map { |line| line[/\w+/] }
      end
    end
  end
end
