# frozen_string_literal: true

require "optparse"

module Demo
  # The options of the demo. `parse` prints help or a mistake itself, and exits.
  Options = Struct.new(:bootstrap, :kafka, :count, :customers, :partitions, :processes, :threads, :rate, :work_ms, :kill, :tamper,
    :keep, :json, :limit_s, :replicas, keyword_init: true) do
    # Reads one property of librdkafka.
    def add_property(text)
      name, value = text.split("=", 2).map(&:strip)
      raise OptionParser::InvalidArgument, "#{name}: must be NAME=VALUE" if value.nil? || name.empty?

      kafka[name] = value
    end

    # Reads a file of properties; ignores empty lines and lines that begin with #.
    def add_properties(path)
      File.readlines(path, chomp: true).grep_v(/\A\s*(#|\z)/).each { |line| add_property(line) }
    rescue SystemCallError => error
      raise OptionParser::InvalidArgument, error.message
    end

    # The embedded broker keeps 5 MiB per partition; an order takes about 150 bytes.
    def self.embedded_limit(partitions)
      partitions * 25_000
    end

    def self.parse(argv)
      options = new(kafka: {}, count: 100_000, customers: 1_000, partitions: 8, processes: 2, threads: 4, rate: 5_000,
        work_ms: 0.5, kill: true, limit_s: 120, replicas: 1)
      parser = Parser.build(options)
      rest = parser.parse(argv)
      abort "bin/demo: unknown argument #{rest.join(" ")}. See --help." if rest.any?
      options.check
    rescue OptionParser::ParseError => error
      abort "bin/demo: #{error.message}. See --help."
    end

    def embedded?
      bootstrap.nil?
    end

    # One customer's orders share a partition, so a run needs at least as many records as partitions.
    def check
      abort "bin/demo: --count, --customers, --partitions, --processes and --threads must be at least 1" if [count, customers,
        partitions, processes, threads].min < 1
      self.bootstrap ||= kafka["bootstrap.servers"]
      check_embedded if embedded?
      self
    end

    private

    def check_embedded
      if kafka.any?
        abort "bin/demo: --kafka and --kafka-file are for a running broker; set its address with --bootstrap HOST:PORT, or " \
          "with bootstrap.servers among the properties"
      end
      return if count <= self.class.embedded_limit(partitions)

      abort "bin/demo: the embedded broker keeps 5 MiB per partition in memory, so at most " \
        "#{self.class.embedded_limit(partitions)} orders with #{partitions} partitions; for more use --partitions or " \
        "--bootstrap HOST:PORT of a real broker"
    end
  end

  # Defines the options and their help.
  module Parser
    OPENING = <<~TEXT
      Usage: bin/demo [options]

      Produces orders, consumes them in several processes, kills one of these with kill -9 half-way, starts
      another, and ends with a table computed from the journals that all of them wrote. Exit code 0: the table is
      correct; 1: it isn't, or the demo failed; 130: Ctrl-C.

      For a broker that requires a login, use a file of librdkafka's properties (docs/security.md lists them):

        bin/demo --bootstrap kafka.example.org:9093 --kafka-file login.properties

        security.protocol=SASL_SSL
        sasl.mechanism=SCRAM-SHA-512
        sasl.username=demo
        sasl.password=…
        ssl.ca.location=/etc/kafka/ca.pem

      The user must be allowed to create and delete topics demo_orders_*, write to and read from them, and join groups of
      those names. Properties that the demo sets itself (addresses, session, commits) can't be changed.

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
      parser.on("--bootstrap HOST:PORT", "a running broker, instead of the embedded one") { |v| options.bootstrap = v }
      parser.on("--kafka NAME=VALUE", "a librdkafka property for that broker, such as a login; may be repeated") do |v|
        options.add_property(v)
      end
      parser.on("--kafka-file FILE", "a file of such lines, to keep secrets off the command line") do |v|
        options.add_properties(v)
      end
      parser.on("--replicas N", Integer, "replicas of the topic on that broker (1)") { |v| options.replicas = v }
    end

    def self.size(parser, options)
      parser.on("--count N", Integer, "orders (100000)") { |v| options.count = v }
      parser.on("--customers N", Integer, "customers, whose orders keep their order (1000)") { |v| options.customers = v }
      parser.on("--partitions N", Integer, "partitions of the topic (8)") { |v| options.partitions = v }
      parser.on("--processes N", Integer, "consumer processes at a time (2)") { |v| options.processes = v }
      parser.on("--threads N", Integer, "threads per consumer process (4)") { |v| options.threads = v }
      parser.on("--rate N", Integer, "orders produced per second (5000); 0: as fast as possible") { |v| options.rate = v }
    end

    def self.work(parser, options)
      parser.on("--work MS", Float, "milliseconds an order takes, as a quick database call would (0.5)") do |v|
        options.work_ms = v
      end
    end

    def self.ending(parser, options)
      parser.on("--[no-]kill", "kill a process half-way (yes)") { |v| options.kill = v }
      parser.on("--tamper", "drop a line of a journal before the table is computed: must end with exit code 1") do |v|
        options.tamper = v
      end
      parser.on("--keep", "keep the journals and print their folder") { |v| options.keep = v }
      parser.on("--json", "the table as JSON, everything else on the error stream") { |v| options.json = v }
      parser.on("--limit SECONDS", Integer, "fail after this time (120)") { |v| options.limit_s = v }
    end
    private_class_method :broker, :size, :work, :ending
  end
end
