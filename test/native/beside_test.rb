# frozen_string_literal: true

require "test_helper"
require "penstock/native"
require "penstock/native/mock_cluster"
require "support/ruby_program"

# Penstock's librdkafka is private: an application may load another binding, with another librdkafka, into the same process.
class BesideAnotherBindingTest < Penstock::TestCase
  leaks_checked_per_class "the embedded broker's threads are shared by the tests"

  PRODUCE_WITH_BOTH = <<~'RUBY'
    require ARGV.shift
    require ARGV.shift
    require "penstock/native/producer"
    servers, topic = ARGV

    other = Rdkafka::Config.new("bootstrap.servers": servers).producer
    ours = Penstock::Native::Producer.new({"bootstrap.servers" => servers})
    ours.open_topic(topic)
    theirs = Array.new(50) { |i| other.produce(topic: topic, payload: "other #{i}") }
    deliveries = Array.new(50) { |i| ours.dispatch({topic: topic, payload: "ours #{i}"}) }
    theirs.each { |handle| handle.wait(max_wait_timeout: 10) }
    arrived = deliveries.count { |delivery| delivery.wait(10_000) && delivery.number.zero? }
    other.close
    ours.close(5_000)
    puts "ours #{arrived} of #{Penstock::Native::LIBRDKAFKA_VERSION}, theirs #{theirs.size} of #{Rdkafka::LIBRDKAFKA_VERSION}"
  RUBY

  def produce_with_both(first, second)
    cluster = Penstock::Native::MockCluster.new
    cluster.create_topic("both", 1)
    arguments = [first, second, cluster.bootstrap_servers, "both"]
    Penstock::TestSupport::RubyProgram.run(PRODUCE_WITH_BOTH, *arguments, timeout: 30)
  ensure
    cluster.close
  end

  [%w[penstock/native rdkafka], %w[rdkafka penstock/native]].each do |first, second|
    test "#{second} loaded after #{first}: both produce, each with its own library" do
      output, result = produce_with_both(first, second)

      assert_predicate result, :success?, output
      assert_match(/ours 50 of 2.16.0\S*, theirs 50 of /, output)
      refute_match(/theirs 50 of 2.16.0/, output, "the test needs two different versions")
    end
  end
end
