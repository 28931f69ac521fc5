# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "support/virtual_clock"
require "penstock/runtime/process_context"

module Penstock
  class ProcessContextTest < TestCase
    Settings = Struct.new(:flight_recorder_path)
    Loop = Struct.new(:recording)

    # Records its events.
    class Told
      attr_reader :events

      def initialize = @events = []
      def emit(name, payload) = @events << [name, payload]
    end

    def host(folder)
      @told = Told.new
      Runtime::ProcessContext.allocate.tap do |host|
        host.instance_variable_set(:@settings, Settings.new(folder))
        host.instance_variable_set(:@clock, VirtualClock.new)
        host.instance_variable_set(:@reporter, @told)
      end
    end

    test "a flight dump that can't be written is reported, and any error there lets the caller continue" do
      Dir.mktmpdir do |folder|
        [[File.join(folder, "none"), 1], [folder, Float::NAN], [folder, "\xFF"]].each do |place, value|
          host(place).dump_flight("loop error", [Loop.new([{entries: [value]}])])
          assert_equal [["error.occurred", "flight_recorder.dump.error"]], @told.events.map { |name, told| [name, told[:type]] }
        end
        assert_empty Dir.children(folder)
      end
    end
  end
end
