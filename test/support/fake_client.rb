# frozen_string_literal: true

require "penstock/producer"
require "penstock/producer/delivery/dry_handle"

# A producer's client whose answers a test sets: it accepts `room` messages and is then full until `make_room`.
class FakeClient
  # A handle that the test resolves.
  class Handle < Penstock::Producer::Delivery::DryHandle
    attr_writer :number, :done

    def initialize(**options)
      super
      @number = 0
      @done = true
    end

    def done?
      @done
    end

    def number
      @number if @done
    end

    def row
      [label, @number, topic, partition, offset, timestamp, :possibly]
    end

    def error
      Penstock::Native::Delivery.error_for(@number)
    end

    def await(_timeout_ms)
      @done
    end
  end

  # @return [Integer, nil] from which wait on a report is there; nil: only those that a test has set
  attr_accessor :arriving
  attr_accessor :room, :room_after_waits, :refusal, :last_error
  attr_reader :sent, :waits, :synced

  def initialize(room: 1_000)
    @room = room
    @room_after_waits = nil
    @refusal = nil
    @last_error = ""
    @sent = []
    @waits = []
    @synced = []
    @arriving = nil
  end

  def open_topic(_name)
  end

  def dispatch(_message)
  end

  def ticket
    @waits.size
  end

  def offer(*parts)
    raise @refusal if @refusal
    return if @room.zero?

    @room -= 1
    @sent << parts[1]
    parts[6] ? Handle.new(topic: parts[0], partition: 0, offset: @sent.size - 1, label: parts[7]) : true
  end

  def dispatch_slice(messages, from, handles, accepted)
    messages.drop(from).each do |message|
      handle = offer(message[:topic], message[:payload], nil, nil, nil, nil, handles, nil) or return -184
      accepted << handle
    end
    0
  end

  def wait_for_room(_ticket, timeout_ms)
    @waits << timeout_ms
    @room = 1_000 if @room_after_waits && @waits.size >= @room_after_waits
    @room.positive?
  end

  def sync_wait(handle, timeout_ms)
    @synced << timeout_ms
    handle.done = true if @arriving && @synced.size >= @arriving
    handle.done?
  end
end
