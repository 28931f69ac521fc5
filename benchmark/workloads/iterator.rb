# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # How fast records are read without a group, compared with an application that consumes the same topic.
  class Iterator < Workload
    NAME = "ITERATOR"
    TITLE = "read 1M × 100 B from 6 partitions with an iterator, payload touched, against an application that consumes them"
    RECORDS = 1_000_000

    def columns = %w[rate cpu_s rss_mb growth_mb objects]

    def prepare = topics.fill(topic, partitions: 6, records: records, bytes: 100)

    def sides
      [side("Iterator", "penstock/iterator.rb"), side("consumer", "penstock/server.rb", body: "touch")]
    end

    def figures(results)
      [
        at_least("rate against the consumer", ratio(results, "Iterator", "consumer"), 0.8, "×"),
        at_most("memory added after a fifth of the records", values(results, "Iterator", "growth_mb"), 10, "MB"),
        seen("objects a record", values(results, "Iterator", "objects"))
      ]
    end

    private

    def records = scaled(RECORDS)

    def topic = "bench-bulk-#{records}"

    def side(name, program, **parameters)
      ruby(name, :ours, program, topics: [topic], records: records, **parameters)
    end
  end
end
