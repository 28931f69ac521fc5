# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      # Everything that really happened to one record.
      class Truth
        # The header with the number of a record in a retry topic: its payload is that of the first record.
        NUMBER = "number"

        # Its number in the run: also its payload, except in retry topics.
        attr_reader :uid
        # The record that was written at first; how many retry topics it has passed since.
        attr_reader :origin, :tier
        # Topic and partition; the record as it was written.
        attr_reader :place, :record
        # User code has passed it without an error; it counts as complete (automatic offsets: its unit ended
        # successfully; manual: it was marked); it is gone from the log.
        attr_accessor :ran, :done, :exempt
        # How often it may run again although it is done; how often user code has begun it; whose client completed it
        # and when; when it failed last and has not run since. `redo`: it runs again, with a licence, until it is done
        # once more.
        attr_accessor :redo
        # Its unit asked for a pause and didn't mark it, or nothing marks it unless another record follows.
        attr_accessor :paused
        attr_accessor :licences, :done_by, :done_at, :failed_at
        attr_writer :tries
        # How often it failed; how often it may have been taken for the one that killed its process; its dead letter was
        # offered to a producer (by whom), and is acknowledged.
        attr_accessor :failures, :deaths, :sent, :buried
        # The wall clock's times when it failed.
        attr_reader :failed_walls
        # The process in which its first attempt failed, and the number of the sequence of outage errors that this was
        # in; nil where it has failed otherwise.
        attr_reader :refused_in
        # It is tried alone, as one that may kill; when that ended; by which client.
        attr_accessor :trial, :tried_until, :tried_by
        # When it was written; the values that its users must read.
        attr_accessor :arrived_at, :written
        # A filter removes it; how often filters have failed at it; a filter has made the partition wait for it.
        attr_accessor :filtered, :filter_tries, :turned
        # How many committed transactions contain its copy.
        attr_accessor :copies
        # Its unit has asked for a pause at it.
        attr_accessor :waited_for
        # Which gathering consumer got it last; one has written it; how often it was the first of the records to be
        # written.
        attr_accessor :holder, :kept, :writes
        # Of a delayed message: it has arrived in the next topic; at its target (of the first record).
        attr_accessor :moved, :reached

        # @param from [Truth, nil] the record that failed, for a record of a retry topic
        def initialize(uid, place, record, from = nil)
          @uid = uid
          @origin = from ? from.origin : self
          @tier = from ? from.tier + 1 : 0
          @place = place
          @record = record
          @ran = @done = @exempt = @redo = @paused = false
          @sent = [] # the processes that have handed its dead letter to a producer
          @buried = @filtered = @turned = @waited_for = @trial = false
          @failed_walls = []
          @kept = @moved = @reached = false
          @licences = @tries = @failures = @deaths = @filter_tries = @copies = @writes = 0
          @done_by = @failed_at = nil
        end

        # @return [Integer] in all topics
        def tries = @origin.equal?(self) ? @tries : @origin.tries

        # It is among the failed records.
        def failed_now(world)
          @failed_at = world.timeline.now
          @failed_walls << world.clock.wall_ms
        end

        # @param refused [Boolean] with an error of an outage
        # @param first [Boolean] whether it is the first attempt, as far as its process knows
        # @param place [Array(Instance, Integer)] the process, and its sequence of such errors
        def failed_with(refused, first, place)
          @refused_in = refused ? place : nil if first
          @refused_in = nil unless refused && place.first.equal?(@refused_in&.first)
        end

        def offset = @record.offset
        def open? = !@done && !@exempt
        def inspect = "#<Truth #{@uid} #{@place.join("/")}/#{offset}>"
      end

      # A running unit: its process, client and records. `flow`: user code has asked for another flow.
      class Work
        attr_reader :instance, :place, :truths, :driver, :consumer
        attr_accessor :flow, :begun_at, :begun_step
        # Where its user resumes after a pause.
        # @return [Truth, nil]
        attr_accessor :goes_on_at

        # @param member [Pools::Member, nil] the process of the pool in which it runs
        def initialize(instance, place, truths, consumer, member = nil)
          @instance = instance
          @lane = instance.world.lane_of(consumer)
          @driver = Work.driver_of(@lane)
          @member = member
          @place = place
          @truths = truths
          @consumer = consumer
          @flow = nil
          @marked = []
          @again = []
        end

        # Its user code has marked them, with success.
        # @param truths [Array<Truth>]
        def marked(truths) = @marked |= truths

        def marked?(truth) = @marked.include?(truth)

        # A record begins that is done, but not for a process that has sought back.
        # @param truth [Truth]
        def runs_again(truth) = @again << truth

        # @return [Boolean] whether it is incomplete for that process
        def reruns?(truth) = @again.include?(truth) && !marked?(truth)

        # @return [Testing::Memory::Kafka::Driver] that its records come from
        def self.driver_of(lane) = lane.assignment.source.client

        def connection = @driver.waiter

        # @return [Processing::Lane] the lane of its consumer
        attr_reader :lane

        attr_reader :member
        # @return [Truth, nil] the record it is at
        attr_accessor :at

        def offsets = "#{@truths.first.offset}..#{@truths.last.offset}"
        def inspect = "#<Work #{@instance.name} #{@place.join("/")} #{offsets}>"
      end
    end
  end
end
