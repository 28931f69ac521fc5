# frozen_string_literal: true

require "penstock/errors"
require "penstock/processing/filters/base"

module Penstock
  module TestSupport
    # Stand-ins for the rest of the process.
    class Assembled
      Host = Struct.new(:clock, :reporter, :queue, :pool, :settings)
      Settings = Struct.new(:window_bytes)
      Group = Struct.new(:id, :topics) do
        def ids = {subscription_group_id: id}
      end
      # Records the offsets that were dead-lettered or skipped.
      Listener = Struct.new(:buried) do
        def emit(name, payload)
          buried[payload[:offset]] = true if %w[dead_letter_queue.dispatched consumer.skipped].include?(name)
        end

        def subscribed?(_name) = false
      end
      # {Assembled} plays the workers.
      Idle = Class.new do
        def grow(_count = 1) = nil
        def running = []
      end
      # No process has died.
      Unsuspecting = Class.new do
        def check(_lane) = true
        def admit(_lane, _unit) = true
        def release(_lane) = nil
        def commit = nil
      end
      Commits = Class.new do
        def adopted(_lane) = nil
        def schedule_commit = nil
        def request_commit(_lanes) = nil
      end

      # A producer that is full, fails or answers late, depending on the seed.
      Producer = Struct.new(:world) do
        def dispatch(_message) = world.chance(0.1) ? nil : Handle.new(world)
      end
      Handle = Struct.new(:world) do
        def done? = !world.chance(0.5)
        def create_result = Result.new((LATE if world.chance(0.2)))
      end
      Result = Struct.new(:error)
      LATE = KafkaError.build(number: -192, name: "msg_timed_out", message: "late")

      # A filter that drops records, waits, and now and then resumes at another offset.
      class Whim < Processing::Filters::Base
        def initialize(world)
          super()
          @world = world
        end

        def apply!(messages)
          messages.delete_if { |message| @world.unwanted?(message.offset) }
          @applied = !messages.empty? && @world.chance(0.15)
          return unless @applied
          @cursor = messages[@world.pick(messages.size)]
          messages.delete_if { |message| message.offset >= @cursor.offset }
        end

        def applied? = @applied || false
        attr_reader :cursor

        def action = :pause
        def timeout = 30
      end
    end
  end
end
