# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "wait"

module Penstock
  module TestSupport
    # Requests the same over a socket again and again, as a health probe does, and records how long each answer took.
    class Probing
      # Seconds between two requests.
      PAUSE_S = 0.005
      # An answer that takes longer counts as none.
      LIMIT_S = 40

      # @return [Array<Float>] ms
      attr_reader :times
      # @return [Array<String>] what was received instead of the answer
      attr_reader :failures

      # @param request [String]
      # @param expected [Regexp] that the answer must match
      # @yieldreturn [BasicSocket] a connection
      def initialize(request, expected, &connect)
        @request = request
        @expected = expected
        @connect = connect
        @times = []
        @failures = []
      end

      # Makes one request.
      # @return [void]
      def call
        began = now
        found = answer
        @times << ((now - began) * 1_000)
        @failures << found[0, 200] unless found.match?(@expected)
        Wait.observe_for(PAUSE_S)
      end

      # @param share [Float] 1.0 for the longest
      # @return [Float] ms
      def percentile(share) = @times.sort[((@times.size - 1) * share).round]

      # @return [String]
      def to_s
        median, most, longest = [0.5, 0.99, 1.0].map { |share| percentile(share).round(1) }
        "#{@times.size} probes: median #{median} ms, 99 % #{most} ms, longest #{longest} ms"
      end

      private

      def answer
        socket = @connect.call
        socket.write(@request)
        socket.wait_readable(LIMIT_S) ? socket.read : "no answer within #{LIMIT_S} s"
      rescue SystemCallError => error
        error.message
      ensure
        socket&.close
      end

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
    end
  end
end
