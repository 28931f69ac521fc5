# frozen_string_literal: true

module Penstock
  module TestSupport
    # Has the methods of Datadog::Statsd and keeps what it received.
    class RecordingStatsd
      Call = Struct.new(:kind, :name, :value, :tags)

      attr_reader :flushes

      def initialize
        @calls = Thread::Queue.new
        @flushes = 0
        @known = []
      end

      %i[count gauge histogram distribution].each do |kind|
        define_method(kind) { |name, value, tags:| @calls << Call.new(kind, name, value, tags) }
      end

      def flush(sync:) = @flushes += (sync ? 1 : 0)

      # @return [Array<Call>] all calls so far
      def calls
        @known << @calls.pop until @calls.empty?
        @known
      end

      def names = calls.map(&:name).uniq

      # @return [Array<Array>] kind, value and tags of each call
      def of(name) = calls.select { |call| call.name == name }.map { |call| [call.kind, call.value, call.tags] }
    end
  end
end
