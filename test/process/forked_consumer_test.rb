# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/producer"
require "support/ruby_program"
require "penstock/testing/cluster"

module Penstock
  # A consumer whose `consume` forks and lets the child return from it.
  class ForkedConsumerTest < TestCase
    # Forks at the second record, and stops when the last has been processed and the child has ended.
    PROGRAM = <<~RUBY
      require "penstock"
      servers, executor = ARGV
      class Forks < Penstock::BaseConsumer
        def consume
          messages.each do |message|
            if message.offset == 1
              child = fork or return
              $stdout.syswrite("child ended with \#{Process.wait2(child).last.exitstatus}\\n")
            end
            $stdout.syswrite("ran \#{message.offset}\\n")
          end
          Process.kill(:TERM, Integer(ENV.fetch("SERVER"))) if messages.last.offset == 3
        end
      end
      ENV["SERVER"] = Process.pid.to_s
      app = Penstock::Application.new("forks") do |config|
        config.kafka = {"bootstrap.servers": servers}
        config.logger = Logger.new(File::NULL)
      end
      app.routing.draw do
        topic :orders do
          consumer Forks
          deserializer Penstock::Serialization::Raw.new
          run_on executor.to_sym unless executor == "threads"
        end
      end
      at_exit { $stdout.syswrite("at_exit in \#{(Process.pid.to_s == ENV["SERVER"]) ? "server" : "child"}\\n") }
      exit app.run!
    RUBY

    %w[threads fibers processes].each do |executor|
      test "#{executor}: a child that returns from consume ends with a message, and the server continues" do
        Testing::Cluster.start(topics: {"orders" => 1}) do |cluster|
          producer = Producer.new { |config| config.kafka = cluster.kafka }
          producer.produce_many_sync(Array.new(4) { |index| {topic: "orders", payload: index.to_s} })
          producer.close
          out, result = TestSupport::RubyProgram.run(PROGRAM, cluster.kafka.fetch(:"bootstrap.servers"), executor, timeout: 30)

          assert_equal "ended with exit code 0", result.to_s, out
          assert_equal ["at_exit in server", "child ended with 1", *Array.new(4) { |index| "ran #{index}" }],
            out.lines(chomp: true).grep(/\A(ran|child|at_exit)/).sort
          assert_match(%r{forked in Forks#consume of orders/0 and returned from it\. It is ended here.*`exit!`}, out)
        end
      end
    end
  end
end
