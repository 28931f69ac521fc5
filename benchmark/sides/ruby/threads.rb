# frozen_string_literal: true

# The bound of P6: Ruby threads that take records from a queue each and wait, no Kafka at all.
require_relative "../probe"

queues = Array.new(Probe["settings"]["concurrency"]) { Queue.new }
Probe["records"].times { |index| queues[index % queues.size] << index }
seconds = Probe["wait_ms"] / 1000.0
PROBE.first
threads = queues.map do |queue|
  Thread.new do
    sleep(seconds) while queue.pop(true)
  rescue ThreadError
    nil
  end
end
threads.each(&:join)
PROBE.finish(records: Probe["records"])
