# frozen_string_literal: true

require_relative "probe"

# The bodies of the consumers that are measured. Penstock and Karafka run exactly the same code: the names of the
# methods are the same on purpose.
module Bodies
  # P1: the payload is touched, not deserialized.
  module Touch
    def consume
      PROBE.first
      bytes = 0
      messages.each { |message| bytes += message.raw_payload.bytesize }
      PROBE.add(messages.size, bytes)
    end
  end

  # P2: the payload is parsed by the default JSON deserializer.
  module Parse
    def consume
      PROBE.first
      cents = 0
      messages.each { |message| cents += message.payload["cents"] }
      PROBE.add(messages.size, cents)
    end
  end

  # P6: each record waits as a call to a database or a service does.
  module Wait
    def consume
      PROBE.first
      messages.each { sleep(Probe["wait_ms"] / 1000.0) }
      PROBE.add(messages.size)
    end
  end

  # P7: records of the slow lanes take 200 ms each, those of the free one are counted. The result is reported when all
  # free records are seen or the time is up.
  module HeadOfLine
    SLOW = Probe["slow"] || []
    FREE = Queue.new

    def consume
      return slow if SLOW.include?("#{topic.name}/#{partition}")

      watch
      PROBE.first
      bytes = 0
      messages.each { |message| bytes += message.raw_payload.bytesize }
      PROBE.add(messages.size, bytes)
    end

    private

    def slow
      messages.each { sleep 0.2 }
    end

    def watch
      return if PROBE.records.positive?

      Thread.new do
        sleep Probe["seconds"]
        PROBE.finish
      end
    end
  end

  # P9: "<sequence> <stamp>"; the first ones warm up.
  module EndToEnd
    SAMPLES = []

    def consume
      now = PROBE.now_ns
      messages.each do |message|
        sequence, stamp = message.raw_payload.split.map(&:to_i)
        PROBE.event("ready") if sequence.zero?
        next if sequence < Probe["warm"]

        PROBE.first
        SAMPLES << (now - stamp)
        PROBE.finish(PROBE.percentiles(SAMPLES), records: SAMPLES.size) if sequence == Probe["last"]
        now = PROBE.now_ns
      end
    end
  end

  # P10: reports the first record; a job of `job_ms` follows.
  module Boot
    def consume
      PROBE.event("first") unless used_before?
      sleep(Probe["job_ms"] / 1000.0) if Probe["job_ms"].positive?
      PROBE.event("done")
    end

    private

    def used_before?
      @used_before.tap { @used_before = true }
    end
  end

  # P8: no record ever comes.
  module Idle
    def consume
    end
  end

  def self.[](name)
    const_get(name.split("_").map(&:capitalize).join)
  end
end
