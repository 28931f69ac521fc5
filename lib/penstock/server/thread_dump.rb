# frozen_string_literal: true

module Penstock
  module Server
    # Lists what every thread of the process is doing, as lines for a log.
    module ThreadDump
      # @return [Array<String>]
      def self.lines
        Thread.list.flat_map do |thread|
          name = thread.name || ((thread == Thread.main) ? "main" : "thread #{thread.object_id}")
          ["#{name} (#{thread.status || "dead"})", *(thread.backtrace || ["no Ruby frames"]).map { |line| "  #{line}" }]
        end
      end
    end
  end
end
