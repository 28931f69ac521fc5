# frozen_string_literal: true

require_relative "cluster"

module Penstock
  module Testing
    @clusters = {}
    @lock = Mutex.new

    class << self
      # An embedded broker for all tests of this process: started when it is first used, ended with the process. A process that
      # was forked, as by `parallelize(workers: …)`, has its own. Give every test its own topics with {Cluster#unique_topic}.
      # @return [Cluster]
      def cluster
        @lock.synchronize do
          @clusters[::Process.pid] ||= Cluster.start.tap { |cluster| at_exit { cluster.stop } }
        end
      end
    end
  end
end
