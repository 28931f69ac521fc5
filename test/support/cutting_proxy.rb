# frozen_string_literal: true

require "penstock/testing/port_forwarder"
require_relative "wait"

module Penstock
  module TestSupport
    # Stands between clients and a broker that advertises this port as its own, and cuts all connections on request.
    class CuttingProxy < Testing::PortForwarder
      attr_reader :cuts

      # @param port [Integer] to listen on, at 127.0.0.1
      # @param target [Integer] the broker's port
      def initialize(port, target)
        @cuts = 0
        super(port, "127.0.0.1:#{target}")
      end

      # @return [Integer] how many connections were cut
      def cut = super.tap { |count| @cuts += 1 if count.positive? }

      # Cuts all connections again and again while the block runs.
      #
      # @param every [Range] seconds between two cuts
      def cutting(every:, random: Random.new(1))
        stop = false
        thread = Thread.new do
          until stop
            Wait.observe_for(random.rand(every))
            cut
          end
        end
        yield
      ensure
        stop = true
        thread.join
      end
    end
  end
end
