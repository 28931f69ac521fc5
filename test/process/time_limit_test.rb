# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/producer"
require "support/ruby_program"
require "penstock/testing/cluster"

module Penstock
  # A job that nothing ends makes the process end: only then is its partition assigned to another member.
  class TimeLimitTest < TestCase
    # An exception raised at the worker waits until the loop has ended, which never happens.
    PROGRAM = <<~RUBY
      require "penstock"
      class Stuck < Penstock::BaseConsumer
        def consume = Thread.handle_interrupt(Exception => :never) { loop { Thread.pass } }
      end
      class App < Penstock::App
        setup do |config|
          config.kafka = {"bootstrap.servers": ARGV.first}
          config.logger = Logger.new($stdout)
        end
        routes.draw do
          topic :orders do
            consumer Stuck
            time_limit 200
          end
        end
      end
      exit App.run!
    RUBY

    test "a job that can't be interrupted is logged, and 5 s later the process ends by force, with the reason in the log" do
      Testing::Cluster.start(topics: {"orders" => 1}) do |cluster|
        producer = Producer.new { |config| config.kafka = cluster.kafka }
        producer.produce_sync(topic: "orders", payload: "x")
        producer.close
        out, result = TestSupport::RubyProgram.run(PROGRAM, cluster.kafka.fetch(:"bootstrap.servers"), timeout: 30)

        assert_equal "ended with exit code 2", result.to_s, out
        assert_match(%r{orders/0: a job on .*takes longer than its time_limit.*Backtrace:}, out)
        assert_match(%r{FATAL.*orders/0 offsets 0\.\.0 takes longer than its time_limit of 200 ms}, out)
      end
    end
  end
end
