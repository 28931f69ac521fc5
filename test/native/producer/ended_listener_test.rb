# frozen_string_literal: true

require "test_helper"
require "support/api_producing"

# A listener ends the thread that calls it: the next call of the producer starts another, which continues at the same place.
class ProducerEndedListenerTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  SECONDS = 40

  # @return [Array(Penstock::Producer, Queue, Queue)] whose listener ends its thread at each of these acknowledgements
  def ending_at(*places)
    sender = connected_api
    heard, errors = Queue.new, events_of(sender, "error.occurred")
    sender.monitor.subscribe("message.acknowledged") do |event|
      heard << event[:offset]
      Thread.exit if places.include?(heard.size)
    end
    [sender, heard, errors]
  end

  def all(queue) = Array.new(queue.size) { queue.pop }

  test "each report is emitted once although listeners end the reporter's thread, and an error reports that" do
    sender, heard, errors = ending_at(1, 5)
    50.times { sender.produce_async(thing(partition: 0)) }
    wait_until(SECONDS, "a listener that ended its thread", state: -> { heard.size }) { heard.size >= 1 }
    wait_until(SECONDS, "all acknowledgements", state: -> { heard.size }) do
      sender.produce_sync(thing(partition: 0)) if heard.size < 50
      heard.size >= 50
    end
    sender.close

    offsets = all(heard)
    assert_equal offsets.uniq, offsets
    assert_equal (0...50).to_a, offsets.first(50)
    told = all(errors).map { |event| [event[:type], event[:error].message[/another thread has taken over/]] }
    assert_equal [["producer.reporter.error", "another thread has taken over"]], told.uniq
  end

  test "reports still waiting when the producer is closed are emitted" do
    sender, heard, = ending_at(1)
    10.times { sender.produce_async(thing(partition: 0)) }
    wait_until(SECONDS, "a listener that ended its thread", state: -> { heard.size }) { heard.size == 1 }
    sender.close

    assert_equal (0...10).to_a, all(heard)
  end
end
