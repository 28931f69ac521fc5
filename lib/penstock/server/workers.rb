# frozen_string_literal: true

module Penstock
  module Server
    # The workers of a running application, for its users: how many there may be, and how many exist. Returned by
    # `PenstockApp.workers`, and in the events about their number. Any thread.
    class Workers
      # @param host [Runtime::ProcessContext]
      # @param scale [#call] changes the number and returns the previous one
      def initialize(host, scale)
        @host = host
        @scale = scale
        @stopped = false
      end

      # @return [Integer] how many worker threads there may be: `config.concurrency`, or the number of the last {#scale}
      def size = @host.worker_count

      # @return [Integer] how many workers exist now: they are started when there is work for them
      def alive = @host.pool.size

      # @return [Boolean] whether they have ended, with the application
      def stopped? = @stopped

      # Changes how many worker threads there may be, see {Application#scale}.
      # @param workers [Integer] at least 1
      # @return [Integer] the previous number
      # @raise [ArgumentError]
      def scale(workers)
        raise ArgumentError, "workers must be an Integer of at least 1, is #{workers.inspect}" unless
          workers.is_a?(Integer) && workers.positive?
        @scale.call(workers)
      end

      # Called when they have ended.
      # @api private
      def stopped! = @stopped = true

      # @return [String]
      def inspect = "#<#{self.class} #{alive} of at most #{size}>"
    end
  end
end
