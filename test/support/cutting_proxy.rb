# frozen_string_literal: true

require "penstock/testing/port_forwarder"
require_relative "wait"

module Penstock
  module TestSupport
    # Stands between clients and a broker that names this port as its own, and cuts all connections when it is told to.
    class CuttingProxy < Testing::PortForwarder
      attr_reader :cuts

      # @param port [Integer] to listen at, on 127.0.0.1
      # @param target [Integer] the broker's port
      def initialize(port, target)
        @cuts = 0
        super(port, "127.0.0.1:#{target}")
      end

      # @return [Integer] how many connections there were
      def cut = super.tap { |count| @cuts += 1 if count.positive? }

      # Cuts again and again until the block has ended.
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
