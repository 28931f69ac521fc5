# frozen_string_literal: true

require "test_helper"
require "support/routes"

class ValidatorTest < Penstock::TestCase
  include RoutesSupport

  test "[setup validation] client_id nil is a configuration error, for which the process ends with code 1" do
    error = assert_raises(Penstock::ConfigurationError) do
      Penstock::Config::Validator.check!(settings { |config| config.client_id = nil })
    end

    assert_match(/\Aconfig.client_id: must be a name/, error.message)
  end

  test "[kafka keys symbols] a String key is rejected by name" do
    assert_equal ['config.kafka: the key "fetch.min.bytes" is a String, keys must be Symbols. Write "fetch.min.bytes": …'],
      told(settings(kafka: {**KAFKA, "fetch.min.bytes" => 1}))
  end

  test "[String kafka key] the error names the key, for a property of producers too" do
    assert_equal ['config.kafka: the key "linger.ms" is a String, keys must be Symbols. Write "linger.ms": …'],
      told(settings(kafka: {**KAFKA, "linger.ms" => 1}))
  end

  test "[reserved kafka key] statistics.unassigned.include is rejected" do
    assert_equal ["config.kafka: statistics.unassigned.include isn't needed: statistics contain only assigned partitions. " \
      "Remove it"], told(settings(kafka: {**KAFKA, "statistics.unassigned.include": true}))
  end

  test "[producer block] a block for an assigned producer, which it wouldn't change, is refused; either alone is accepted" do
    own = Struct.new(:produce_async, :produce_sync, :close).new
    assert_empty told(settings { |config| config.producer = own })
    assert_empty told(settings { |config| config.producer { nil } })
    problems = told(settings do |config|
      config.producer = own
      config.producer { |producer| producer.kafka[:"linger.ms"] = 5 }
    end)
    assert_equal 1, problems.size
    assert_match(/\Aconfig.producer: is assigned and also has a block.*where you create it/, problems.first)
  end

  test "[pause/wait/shutdown relations] max_wait_time has no effect, so any value fits any shutdown_timeout" do
    assert_empty(told(settings do |config|
      config.max_wait_time = 500
      config.shutdown_timeout = 500
    end))
  end

  test "[missing bootstrap.servers] rejected, for the application and for a topic with properties of its own" do
    missing = 'bootstrap.servers is missing. For example "localhost:9092"'

    assert_equal ["config.kafka: #{missing}"], told(settings(kafka: {"fetch.min.bytes": 1}))
    inherit = "or `inherit: true` to add these properties to the application's"
    assert_equal ["routes: a, consumer_group app, kafka: #{missing}, #{inherit}"], problems {
      topic(:a) do
        consumer RoutesSupport::Consumer
        kafka("fetch.min.bytes": 1)
      end
    }
  end

  test "[same topic two consumers] rejected in one group, with both lines" do
    found = problems do
      topic(:a) { consumer RoutesSupport::Consumer }
      topic("a") { consumer RoutesSupport::OtherConsumer }
    end

    assert_match(/topic a, consumer_group app: is routed 2 times in this group \(validator_test.rb:\d+ and/, found.join)
  end

  test "[namespacing rule] a.b_c is rejected unless strict is off" do
    drawing = proc { topic("a.b_c") { consumer RoutesSupport::Consumer } }

    assert_match(/its name mixes dots and underscores/, problems(&drawing).join)
    assert_empty problems(settings { |config| config.strict_topics_namespacing = false }, &drawing)
  end

  test "[RE2 vs POSIX] a pattern that isn't portable is refused at boot" do
    assert_match(/\\d: write \[0-9\]/, problems { pattern(/a\d/) { consumer RoutesSupport::Consumer } }.join)
  end

  test "settings can be checked alone" do
    assert_empty Penstock::Config::Validator.problems(settings)
  end

  test "a swarm's times are checked against each other" do
    found = told(settings do |config|
      config.swarm.supervision_interval = 5_000
      config.swarm.liveness_timeout = 10_000
      config.swarm.restart_backoff = 2
      config.swarm.restart_backoff_max = 1
    end)

    assert_equal 2, found.size
    assert_match(/config.swarm.liveness_timeout: \(10000\) must be above twice the supervision_interval \(5000\)/, found.join)
    assert_match(/config.swarm.restart_backoff: \(2\) must not be above restart_backoff_max \(1\)/, found.join)
  end

  test "properties of admin calls are checked too" do
    with = settings { |config| config.admin.kafka = {"socket.timeout.mss": 1} }

    assert_equal ["config.admin.kafka: socket.timeout.mss is not a property of librdkafka. Did you mean socket.timeout.ms?"],
      told(with)
  end

  private

  def told(with) = problems(with) { topic(:a) { consumer RoutesSupport::Consumer } }
end
