# frozen_string_literal: true

require_relative "lines"

module Penstock
  module Instrumentation
    # The lines of {LoggerListener} about worker threads.
    module WorkerLines
      def on_worker_scaling_up(event)
        return if event[:from].eql?(0) # their start

        @log.info(event) { "up to #{event[:to]} workers, not #{event[:from]}" }
      end

      def on_worker_scaling_down(event)
        @log.info(event) { "up to #{event[:to]} workers, not #{event[:from]}; running jobs finish" }
      end

      def on_workers_measured(event)
        @log.debug(event) do
          "#{busy_workers(event)} of #{event[:workers]} workers busy, #{lock_share(event)} of that time waiting for Ruby's lock"
        end
      end

      def on_workers_advised(event)
        @log.info(event) { (event[:advice] == :processes) ? more_processes(event) : more_threads(event) }
      end

      private

      def more_processes(event)
        "records wait while workers spend #{lock_share(event)} of their busy time waiting for Ruby's lock: more threads won't " \
          "help: start more processes (`penstock swarm --nodes n`)"
      end

      def more_threads(event)
        "records wait, all #{Lines.count(event[:workers], "worker")} are busy and spend only #{lock_share(event)} of that time " \
          "waiting for Ruby's lock: raise concurrency #{event[:workers]} -> #{event[:suggested]} (`config.concurrency`)"
      end

      def busy_workers(event) = (event[:busy_ms] / event[:period_ms].to_f).round(1)

      def lock_share(event)
        return "an unknown share" unless event[:lock_wait_ms] && event[:busy_ms].positive?

        "#{"about " if event[:estimated]}#{(100 * event[:lock_wait_ms] / event[:busy_ms]).round} %"
      end
    end
  end
end
