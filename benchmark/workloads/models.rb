# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # Shared by the three workloads about where user code runs.
  module Placed
    SECONDS = 6
    RECORDS = 60_000

    def prepare
      topics.fill_evenly(topic, partitions: 1, records: RECORDS)
    end

    def columns = %w[rate cpu_s rss_mb]

    private

    def topic = "bench-models"

    # @param model [Symbol] :threads, :fork, :processes or :fibers
    # @param work [Symbol] :busy, :mixed, :blocking or :async
    def placed(name, model, work, at_once, busy_ms: 1.0, wait_ms: 0)
      ruby(name, :ours, "penstock/models.rb", {"at once" => at_once}, topics: [topic], model: model, work: work,
        at_once: at_once, busy_ms: busy_ms, wait_ms: wait_ms, seconds: options.quick ? 1 : SECONDS)
    end
  end

  # Computing handlers: a pool of processes against one thread, within one member of the group.
  class Processes < Workload
    include Placed

    NAME = "PROCESSES"
    TITLE = "1 and 0.1 ms of pure Ruby a record, one partition: one thread against a pool of 2 processes"

    def sides
      [[1.0, "1 ms"], [0.1, "0.1 ms"]].flat_map do |busy_ms, label|
        [placed("#{label}, one thread", :threads, :busy, 1, busy_ms: busy_ms),
          placed("#{label}, 2 processes", :processes, :busy, 2, busy_ms: busy_ms)]
      end
    end

    def figures(results)
      [
        at_least("1 ms: 2 processes against one thread", ratio(results, "1 ms, 2 processes", "1 ms, one thread"), 1.7, "×"),
        at_least("0.1 ms: 2 processes against one thread", ratio(results, "0.1 ms, 2 processes", "0.1 ms, one thread"), 1.4, "×")
      ]
    end
  end

  # Waiting handlers: a hundred of one partition at the same time.
  class Fibers < Workload
    include Placed

    NAME = "FIBERS"
    TITLE = "50 ms of waiting a record, one partition, 100 at once"

    def sides
      [placed("fibers", :fibers, :async, 100, wait_ms: 50), placed("100 threads", :threads, :async, 100, wait_ms: 50)]
    end

    def figures(results)
      [
        at_least("records a second in fibers", values(results, "fibers", "rate"), 1_500, "/s"),
        seen("against 100 threads", ratio(results, "fibers", "100 threads"), "×")
      ]
    end
  end

  # The classic comparison of execution models.
  class Models < Workload
    include Placed

    NAME = "MODELS"
    TITLE = "busy (1 ms), mixed (1 + 5 ms), blocking and async (20 ms of waiting, unseen and seen by fibers), one partition"
    WORK = {busy: {}, mixed: {wait_ms: 5}, blocking: {wait_ms: 20}, async: {wait_ms: 20}}.freeze
    MODELS = {"one thread" => [:threads, 1], "10 threads" => [:threads, 10], "fork a unit" => [:fork, 4],
              "2 processes" => [:processes, 2], "100 fibers" => [:fibers, 100]}.freeze

    def sides
      WORK.flat_map do |work, costs|
        MODELS.map { |name, (model, at_once)| placed("#{work}, #{name}", model, work, at_once, **costs) }
      end
    end

    def figures(results)
      WORK.keys.product(MODELS.keys).map do |work, name|
        seen("#{work}, #{name}", values(results, "#{work}, #{name}", "rate"), "/s")
      end
    end
  end
end
