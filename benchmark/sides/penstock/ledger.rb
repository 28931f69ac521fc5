# frozen_string_literal: true

# The ledger through Ruby: windows of records that complete in random order, as they do by key. By the thread's own
# clock.
require_relative "../probe"
require "penstock/native/ledger"
require "penstock/native/envelope"

window = Probe["window"]
stride = Probe["stride"]
rounds = Probe["records"] / window
order = (0...window).to_a.shuffle(random: Random.new(1))
halves = [order.first(window / 2), order.drop(window / 2)]
ledger = Penstock::Native::Ledger.new(0)
spent = Hash.new(0)
clock = -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) }
timed = lambda do |what, &body|
  began = clock.call
  body.call
  spent[what] += clock.call - began
end

PROBE.first
rounds.times do
  from = ledger.tail
  offsets = Array.new(window) { |index| from + (index * stride) }
  todo = halves.map { |half| half.map { |index| offsets[index] } }
  timed.call(:admit) { ledger.admit(from, from + (window * stride), offsets) }
  timed.call(:complete) { todo.first.each { |offset| ledger.complete(offset) } }
  timed.call(:pressure) { ledger.pressure }
  timed.call(:encode) { Penstock::Native::Envelope.write(base: ledger.base, topic: "t", completed: ledger) }
  timed.call(:complete) { todo.last.each { |offset| ledger.complete(offset) } }
end
records = rounds * window
PROBE.finish({
  admit_ns: spent[:admit].fdiv(records).round(1), complete_ns: spent[:complete].fdiv(records).round(1),
  pressure_us: spent[:pressure].fdiv(rounds * 1_000).round(1), encode_us: spent[:encode].fdiv(rounds * 1_000).round(1)
}, records: records)
