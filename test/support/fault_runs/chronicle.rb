# frozen_string_literal: true

require "json"
require_relative "journal"

module Penstock
  module TestSupport
    module FaultRuns
      # Records the actions of a run, and when they happened: faults with their beginning and end, signals with the
      # process that got them. It also writes them to a file, one line each, as they happen. Any thread may write.
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

        # A fault that lasts as long as the block, or a moment without one.
        # @param kind [String]
        # @param target [Object]
        # @return the block's value
        def fault(kind, target = nil)
          fault = Fault.new(kind, target.to_s, Journal.now, nil)
          @lock.synchronize { @faults << fault }
          say("#{kind} #{target}")
          yield if block_given?
        ensure
          fault.ended = Journal.now
        end

        # A fault that lasts until the caller ends it.
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

        # @param pid [Integer]
        # @param at [Integer] monotonic µs
        # @param within_us [Integer]
        # @return [Boolean] whether its last signal before that was KILL or STOP, by at most that time
        def silent?(pid, at, within_us)
          last = @signals.select { |sent| sent.pid == pid && sent.at <= at }.max_by(&:at)
          !last.nil? && %w[KILL STOP].include?(last.name) && last.at >= at - within_us
        end

        # @param name [String] of a member
        # @param at [Integer] monotonic µs
        # @return [Boolean] whether one of the member's own processes was killed after that
        def killed_process?(name, at)
          @faults.any? { |fault| fault.kind == "process killed" && fault.target.end_with?(" of #{name}") && fault.began >= at }
        end

        def say(text)
          line = format("%8.2f  %s", (Journal.now - @began) / 1e6, text)
          @file.puts("#{Journal.now}\t#{line}")
          @out&.puts(line)
        end

        # @return [Array<Fault>] that overlap a time, extended backwards by that much
        def during(from, till, before_us: 15_000_000)
          @faults.select { |fault| fault.began < till && (fault.ended || till) > from - before_us }
        end

        def close = @file.close
      end
    end
  end
end
