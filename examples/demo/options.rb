# frozen_string_literal: true

require "optparse"

module Demo
  # What the demo is asked to do. `parse` prints help or the mistake itself and exits.
  Options = Struct.new(:bootstrap, :count, :customers, :partitions, :processes, :threads, :rate, :work_ms, :kill, :tamper,
    :keep, :json, :limit_s, :replicas, keyword_init: true) do
    # The embedded broker keeps 5 MiB a partition; an order takes about 150 bytes.
    def self.embedded_limit(partitions)
      partitions * 25_000
    end

    def self.parse(argv)
      options = new(count: 100_000, customers: 1_000, partitions: 8, processes: 2, threads: 4, rate: 5_000, work_ms: 0.5,
        kill: true, limit_s: 120, replicas: 1)
      parser = Parser.build(options)
      rest = parser.parse(argv)
      abort "bin/demo: what is #{rest.join(" ")}? See --help." if rest.any?
      options.check
    rescue OptionParser::ParseError => error
      abort "bin/demo: #{error.message}. See --help."
    end

    def embedded?
      bootstrap.nil?
    end

    # One customer's orders share a partition, so fewer records than partitions make no run.
    def check
      abort "bin/demo: --count, --customers, --partitions, --processes and --threads begin at 1" if [count, customers,
        partitions, processes, threads].min < 1
      return self unless embedded? && count > self.class.embedded_limit(partitions)

      abort "bin/demo: the embedded broker keeps 5 MiB a partition in memory, so at most " \
        "#{self.class.embedded_limit(partitions)} orders with #{partitions} partitions; more with --partitions or " \
        "--bootstrap HOST:PORT of a real one"
    end
  end

  # The options in words.
  module Parser
    OPENING = <<~TEXT
      Usage: bin/demo [options]

      Produces orders, consumes them in several processes, kills one of these with kill -9 in the middle, starts
      another, and ends with a table computed from the journals that all of them wrote. Exit code 0: the table is as it
      must be; 1: it isn't, or the demo failed; 130: Ctrl-C.

    TEXT

    def self.build(options)
      OptionParser.new do |parser|
        parser.banner = OPENING
        broker(parser, options)
        size(parser, options)
        work(parser, options)
        ending(parser, options)
      end
    end

    def self.broker(parser, options)
      parser.on("--bootstrap HOST:PORT", "a broker that runs, instead of the embedded one") { |v| options.bootstrap = v }
      parser.on("--replicas N", Integer, "replicas of the topic on that broker (1)") { |v| options.replicas = v }
    end

    def self.size(parser, options)
      parser.on("--count N", Integer, "orders (100000)") { |v| options.count = v }
      parser.on("--customers N", Integer, "customers, whose orders keep their order (1000)") { |v| options.customers = v }
      parser.on("--partitions N", Integer, "partitions of the topic (8)") { |v| options.partitions = v }
      parser.on("--processes N", Integer, "consumer processes at a time (2)") { |v| options.processes = v }
      parser.on("--threads N", Integer, "threads of a consumer process (4)") { |v| options.threads = v }
      parser.on("--rate N", Integer, "orders produced a second (5000); 0: as fast as it goes") { |v| options.rate = v }
    end

    def self.work(parser, options)
      parser.on("--work MS", Float, "milliseconds an order takes, as a quick database call would (0.5)") do |v|
        options.work_ms = v
      end
    end

    def self.ending(parser, options)
      parser.on("--[no-]kill", "kill a process in the middle (yes)") { |v| options.kill = v }
      parser.on("--tamper", "drop a line of a journal before the table is made: must end with exit code 1") do |v|
        options.tamper = v
      end
      parser.on("--keep", "keep the journals and say where they are") { |v| options.keep = v }
      parser.on("--json", "the table as JSON, everything else on the error stream") { |v| options.json = v }
      parser.on("--limit SECONDS", Integer, "give up after so long (120)") { |v| options.limit_s = v }
    end
    private_class_method :broker, :size, :work, :ending
  end
end
