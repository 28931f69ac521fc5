# frozen_string_literal: true

require "test_helper"
require "support/native_producing"

# Reading an argument may run Ruby: a conversion, or the comparison of a user's String subclass. If the producer is closed
# meanwhile, the rest of the call must notice.
class ProducerClosedBeneathTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  # Converts itself, and closes the producer meanwhile.
  class Closing
    def initialize(producer, value)
      @producer = producer
      @value = value
    end

    def to_str = close
    def to_int = close

    private

    def close
      @producer.close(0)
      @value
    end
  end

  # A topic's name whose comparison closes the producer.
  class Name < String
    attr_writer :producer

    def eql?(other)
      @producer&.close(0)
      super
    end
  end

  def native
    @native ||= Penstock::Native::Producer.new({"bootstrap.servers" => NOBODY}).tap { |native| native.open_topic("things") }
  end

  def assert_closed(&block)
    assert_raises(Penstock::HandleClosedError, &block)
    assert_predicate native, :closed?
  end

  {"a payload" => [1, "x"], "a key" => [2, "k"], "a partition" => [3, 0], "a timestamp" => [4, 1]}.each do |what, (at, value)|
    test "#{what} whose conversion closes the producer isn't passed to it" do
      arguments = ["things", "payload", nil, -1, 0, nil, true, nil]
      arguments[at] = Closing.new(native, value)
      assert_closed { native.offer(*arguments) }
    end
  end

  test "properties of a topic whose reading closes the producer aren't passed to it" do
    assert_closed { native.open_topic_with("other", "other", {"acks" => Closing.new(native, "0")}) }
  end

  test "a name whose comparison closes the producer isn't used" do
    name = Name.new("things").tap { |each| each.producer = native }

    assert_nil native.dispatch({topic: name, payload: "x"})
    assert_predicate native, :closed?
  end

  test "none of many messages is sent by a producer closed meanwhile" do
    name = Name.new("things").tap { |each| each.producer = native }
    accepted = []
    native.dispatch_slice([{topic: name, payload: "x"}], 0, true, accepted)

    assert_empty accepted
    assert_predicate native, :closed?
  end
end
