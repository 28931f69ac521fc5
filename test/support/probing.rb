# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "wait"

module Penstock
  module TestSupport
    # Asks a socket over and over, as a probe does, and keeps how long each answer took.
    class Probing
      # How long is waited between two.
      PAUSE_S = 0.005
      # An answer that takes longer is none.
      LIMIT_S = 40

      # @return [Array<Float>] ms
      attr_reader :times
      # @return [Array<String>] what came instead of the answer
      attr_reader :failures

      # @param request [String]
      # @param expected [Regexp] in its answer
      # @yieldreturn [BasicSocket] a connection
      def initialize(request, expected, &connect)
        @request = request
        @expected = expected
        @connect = connect
        @times = []
        @failures = []
      end

      # Asks once.
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
