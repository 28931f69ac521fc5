# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      # What really happened to one record.
      class Truth
        # Its number in the run: also its payload.
        attr_reader :uid
        # Topic and partition; the record as it was written.
        attr_reader :place, :record
        # User code has gone past it without an error; it counts as complete (automatic offsets: its unit ended well; manual: it
        # was marked); it is gone from the log.
        attr_accessor :ran, :done, :exempt
        # How often it may run again although it is done; how often user code has begun it; whose client it was done with and
        # when; when it failed last and has not run since.
        # `redo`: it runs again, with a licence, until it is done once more.
        attr_accessor :redo
        # Its unit asked for a pause and didn't mark it, or nothing marks it as long as nothing follows.
        attr_accessor :paused
        attr_accessor :licences, :tries, :done_by, :done_at, :failed_at
        # How often it failed; how often it may have been taken for what killed its process; its dead letter
        # was offered to a producer (by whom), and is acknowledged.
        attr_accessor :failures, :deaths, :sent, :buried
        # It is tried alone, as one that may kill; when that ended.
        attr_accessor :trial, :tried_until
        # A filter takes it out; filters have failed so often at it, and one has had the partition wait for it.
        attr_accessor :filtered, :filter_tries, :turned
        # How often a committed transaction has its copy.
        attr_accessor :copies
        # Its unit has asked for a pause at it.
        attr_accessor :waited_for

        def initialize(uid, place, record)
          @uid = uid
          @place = place
          @record = record
          @ran = @done = @exempt = @redo = @paused = false
          @sent = [] # the processes that have handed its dead letter to a producer
          @buried = @filtered = @turned = @waited_for = @trial = false
          @licences = @tries = @failures = @deaths = @filter_tries = @copies = 0
          @done_by = @failed_at = nil
        end

        def offset = @record.offset
        def open? = !@done && !@exempt
        def inspect = "#<Truth #{@uid} #{@place.join("/")}/#{offset}>"
      end

      # A unit that runs: its process, client and records. `flow`: user code has asked for another flow.
      class Work
        attr_reader :instance, :place, :truths, :driver, :consumer
        attr_accessor :flow, :begun_at
        # Where its user wants to go on after a pause.
        # @return [Truth, nil]
        attr_accessor :goes_on_at

        def initialize(instance, place, truths, consumer)
          @instance = instance
          @driver = instance.driver
          @place = place
          @truths = truths
          @consumer = consumer
          @flow = nil
        end

        # @return [Processing::Lane] whose consumer it is
        def lane = @consumer.instance_variable_get(:@penstock_context).lane

        def offsets = "#{@truths.first.offset}..#{@truths.last.offset}"
        def inspect = "#<Work #{@instance.name} #{@place.join("/")} #{offsets}>"
      end
    end
  end
end
