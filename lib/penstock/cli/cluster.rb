# frozen_string_literal: true

require_relative "../../penstock"

module Penstock
  module CLI
    # The administration calls of the commands, on a connection that lives as long as the block of {open}. Runs on the
    # main thread; every call has a time limit.
    class Cluster
      # @param kafka [Hash{Symbol => Object}] librdkafka's settings
      # @yieldparam cluster [Cluster]
      # @return what the block returns
      def self.open(kafka)
        admin = Penstock::Admin.new(kafka: kafka)
        yield new(admin)
      ensure
        admin&.close
      end

      def initialize(admin)
        @admin = admin
      end
    end
  end
end
