# frozen_string_literal: true

require "json"
require_relative "journal"

module Penstock
  module TestSupport
    module FaultRuns
      # What was done to a run, and when: faults with their beginning and end, signals with the process they went to. Also a
      # file, a line each, written as it happens. Any thread may write.
      class Chronicle
        Fault = Struct.new(:kind, :target, :began, :ended)
        Sent = Struct.new(:pid, :name, :at)

        attr_reader :faults, :signals

        # @param path [String]
        # @param out [IO, nil] where people see it
        def initialize(path, out: nil)
          @file = File.open(path, "a")
          @file.sync = true
          @out = out
          @began = Journal.now
          @faults = []
          @signals = []
          @lock = Mutex.new
        end

        # A fault that lasts as long as the block, or no time.
        # @param kind [String]
        # @param target [Object]
        # @return what the block answers
        def fault(kind, target = nil)
          fault = Fault.new(kind, target.to_s, Journal.now, nil)
          @lock.synchronize { @faults << fault }
          say("#{kind} #{target}")
          yield if block_given?
        ensure
          fault.ended = Journal.now
        end

        # One that goes on until somebody says so.
        # @return [Fault]
        def begin_fault(kind, target = nil)
          fault(kind, target)
          @lock.synchronize { @faults.last.tap { |fault| fault.ended = nil } }
        end

        def end_fault(fault)
          fault.ended = Journal.now
          say("#{fault.kind} #{fault.target} is over")
        end

        def signal(pid, name)
          @lock.synchronize { @signals << Sent.new(pid, name.to_s.delete_prefix("SIG"), Journal.now) }
        end

        def say(text)
          line = format("%8.2f  %s", (Journal.now - @began) / 1e6, text)
          @file.puts("#{Journal.now}\t#{line}")
          @out&.puts(line)
        end

        # @return [Array<Fault>] that overlap a time, with so much before it
        def during(from, till, before_us: 15_000_000)
          @faults.select { |fault| fault.began < till && (fault.ended || till) > from - before_us }
        end

        def close = @file.close
      end
    end
  end
end
