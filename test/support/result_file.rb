# frozen_string_literal: true

require "json"
require "minitest"

module Penstock
  module TestSupport
    # Writes the counts of a run to where bin/test looks for them (PENSTOCK_TEST_RESULT), so that several processes add
    # up to one closing line; also which tests took longest, and how much of that time was work.
    class ResultFile < Minitest::AbstractReporter
      SLOWEST = 10
      # The first lines of a failed test's message that are repeated at the end of the run: where only the end is kept,
      # they are all there is.
      LINES = 25

      def initialize(path)
        super()
        @path = path
        @passed = 0
        @failed = []
        @skipped = Hash.new(0)
        @slowest = []
      end

      def record(result)
        @slowest = [*@slowest, [result.time.round(1), "#{result.klass}##{result.name}"]].max(SLOWEST)
        if result.skipped?
          @skipped[result.failure.message] += 1
        elsif result.passed?
          @passed += 1
        else
          @failed << failure(result)
        end
      end

      def report
        counts = {passed: @passed, failed: @failed, skipped: @skipped}
        File.write(@path, JSON.generate(**counts, slowest: @slowest, cpu_seconds: ::Process.times.to_a.sum.round(1)))
      end

      private

      def failure(result)
        ["#{result.klass}##{result.name}", *result.failure.message.scrub.lines(chomp: true).first(LINES)].join("\n      ")
      end
    end
  end
end

module Minitest
  def self.plugin_penstock_init(_options)
    path = ENV.fetch("PENSTOCK_TEST_RESULT", nil)
    reporter << Penstock::TestSupport::ResultFile.new(path) if path
  end
end

Minitest.extensions << "penstock"
