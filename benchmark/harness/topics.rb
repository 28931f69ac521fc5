# frozen_string_literal: true

require "json"
require "tempfile"

module Bench
  # Creates the topics of the workloads and fills them once: all sides of a workload read the same records, and a topic
  # that is already full (on a broker that outlives a run) is used as it is.
  class Topics
    def initialize(broker, c_programs)
      @broker = broker
      @c_programs = c_programs
      @ready = {}
    end

    # The first group of a broker waits seconds for its offsets topic: that isn't measured.
    def warm_up
      fill_evenly("bench-warm", partitions: 1, records: 1_000)
      command = @c_programs.command("consume", bootstrap: @broker.bootstrap, topic: "bench-warm", group: "bench-warm",
        records: 1_000)
      system(*command, out: File::NULL, exception: true)
    end

    # An empty topic; safe to call again.
    #
    # @return [String] its name
    def create(name, partitions: 1)
      @ready[name] ||= begin
        tool("org.apache.kafka.tools.TopicCommand", "--create", "--if-not-exists", "--topic", name,
          "--partitions", partitions.to_s, "--replication-factor", "1")
        name
      end
    end

    # An empty topic whose partitions all have a leader: with thousands of them the broker is busy for a while.
    def create_settled(name, partitions:)
      create(name, partitions: partitions)
      held(name)
      name
    end

    # `records` records of `bytes` bytes, by Kafka's own performance producer.
    def fill(name, partitions:, records:, bytes:)
      once(name, partitions, records) { perform(name, records, "--record-size", bytes.to_s) }
    end

    # Records chosen from the given payloads.
    def fill_from(name, partitions:, records:, payloads:)
      once(name, partitions, records) do
        Tempfile.create("bench-payloads") do |file|
          file.write(payloads.join("\n"))
          file.flush
          perform(name, records, "--payload-file", file.path)
        end
      end
    end

    # Records distributed evenly, or all to one partition: `spread` is {partition => records} or a count for each.
    def fill_evenly(name, partitions:, records:, bytes: 100)
      once(name, partitions, records) { deal(name, records, bytes, "partitions=#{partitions}") }
    end

    # All in one partition; that many keys take turns.
    def fill_keys(name, records:, keys:, bytes: 100)
      once(name, 1, records) { deal(name, records, bytes, "partition=0", "keys=#{keys}") }
    end

    def fill_partition(name, partition, records:, bytes: 100)
      @ready["#{name}/#{partition}"] ||= deal(name, records, bytes, "partition=#{partition}")
    end

    private

    def once(name, partitions, records)
      @ready["#{name}/full"] ||= begin
        create(name, partitions: partitions)
        yield if held(name) < records
        name
      end
    end

    def deal(name, records, bytes, *placing)
      system(*@c_programs.command("produce", bootstrap: @broker.bootstrap, topic: name, records: records, bytes: bytes),
        *placing, out: File::NULL, exception: true)
      true
    end

    def perform(name, records, *what)
      tool("org.apache.kafka.tools.ProducerPerformance", "--topic", name, "--num-records", records.to_s,
        "--throughput", "-1", *what)
    end

    def held(name)
      tool("org.apache.kafka.tools.GetOffsetShell", "--topic", name).lines.sum { |line| line.split(":").last.to_i }
    end

    def tool(main, *arguments)
      command = @broker.java(main, "--bootstrap-server", @broker.bootstrap, *arguments)
      output = IO.popen(command, err: [:child, :out], &:read)
      raise "#{main} #{arguments.join(" ")}:\n#{output}" unless $?.success?

      output
    end
  end
end
