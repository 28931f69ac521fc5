# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/runtime/ports"

module Penstock
  class PortsTest < TestCase
    include TestSupport::Lanes

    # A driver that only remembers seeks.
    class Driver
      attr_reader :seeks
      attr_accessor :high

      def initialize
        @seeks = []
        @high = -1001
      end

      def seek(_source, offset) = @seeks << offset
      def cached_watermarks(_topic, _partition) = [0, @high]
    end

    Session = Struct.new(:driver, :group, :events) do
      def emit(name, payload) = events << [name, payload]
    end

    # Remembers what is to be committed.
    class Committer
      attr_reader :wanted

      def initialize = @wanted = []
      def want(lanes) = @wanted.concat(lanes)
      def moved = nil
    end

    def setup
      @driver = Driver.new
      @committer = Committer.new
      @ports = Runtime::Ports.new(Session.new(@driver, :group, []), @committer, ->(_error) {})
      @lane = lane(route(max_messages: 3), committed: 0)
      admit(@lane, batch(0..5, from: 0))
      @unit = @lane.next_unit
    end

    test "[seek same position] a seek to where the lane stands keeps what was prefetched" do
      @ports.seek(@lane, 3, :user)
      assert_empty @driver.seeks
      assert_equal [3, 0], [@lane.position, @lane.incarnation]
      assert_equal [3, 4, 5], offsets_of(@lane.next_unit)
    end

    test "any other seek begins a new incarnation, moves the source and commits at once" do
      @ports.seek(@lane, 1, :user)
      assert_equal [[1], 1, 1, [@lane]], [@driver.seeks, @lane.incarnation, @lane.position, @committer.wanted]
      assert_nil @lane.next_unit
    end

    test "the end is what the last fetch said" do
      @driver.high = 40
      @ports.seek(@lane, :latest, :user)
      assert_equal [[40], 40], [@driver.seeks, @lane.position]
    end

    test "an unknown end is left to the library" do
      @ports.seek(@lane, :latest, :user)
      assert_equal [-1], @driver.seeks
      assert_nil @lane.position
    end

    test "a source that is put back where the ledger stands is no seek of the user's" do
      @ports.seek(@lane, 6, :discontinuity)
      assert_equal [[6], 0, 0], [@driver.seeks, @lane.incarnation, @lane.position]
    end
  end
end
