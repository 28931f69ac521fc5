# frozen_string_literal: true

require_relative "harness/broker"
require_relative "harness/c_programs"
require_relative "harness/cluster"
require_relative "harness/machine"
require_relative "harness/options"
require_relative "harness/peers"
require_relative "harness/report"
require_relative "harness/runner"
require_relative "harness/topics"
require_relative "harness/workload"

Dir[File.join(__dir__, "workloads/*.rb")].sort.each { |file| require file }

# Measures Penstock against its targets and against other libraries. Nothing here is part of the gem.
module Bench
  ROOT = File.expand_path("..", __dir__)
  RESULT = File.join(__dir__, "results/reference.json")
  # The workloads on three brokers.
  FAILOVER = File.join(__dir__, "results/failover.json")
  # Some of the workloads with Ruby's compiler, and with a newer Ruby: a column each in docs/performance.md.
  COLUMNS = %w[yjit ruby33].map { |name| File.join(__dir__, "results/#{name}.json") }

  module_function

  # @param argv [Array<String>]
  # @return [Integer] exit code: 1 when a target is missed
  def start(argv)
    options = Options.parse(argv)
    return document(options) if options.docs

    workloads = chosen(options)
    Peers.install if options.peers
    RubySide.switches = RubySide::YJIT if options.yjit
    report = measure(workloads, options)
    report.print
    report.write(options.json) if options.json
    report.missed.empty? ? 0 : 1
  rescue OptionParser::ParseError, Broker::Missing => error
    warn "bin/bench: #{error.message}"
    1
  end

  def measure(classes, options)
    on_one, on_several = classes.partition { |workload| workload::BROKERS == 1 }
    outcomes, brokers = [[Broker, on_one], [Cluster, on_several]].reject { |_brokers, some| some.empty? }
      .map { |brokers, some| measure_on(brokers, some, options) }.transpose
    Report.new(outcomes.flatten, {runs: options.runs, switches: RubySide.switches,
         **Machine.facts(broker: brokers.join("; "), peers: Peers.versions, penstock: penstock)})
  end

  # @return [Array(Array<Outcome>, String)] and the version of the brokers
  def measure_on(brokers, classes, options)
    c_programs = CPrograms.new
    brokers.open do |broker|
      topics = Topics.new(broker, c_programs)
      broker.respond_to?(:warm_up) ? broker.warm_up : topics.warm_up
      workloads = classes.map do |workload|
        workload.new(broker: broker, topics: topics, c_programs: c_programs, options: options)
      end
      [workloads.map { |workload| Runner.new(workload, options).run }, broker.version]
    end
  end

  def chosen(options)
    return Workload.all.select { |workload| workload::BROKERS == 1 } if options.names.empty?

    by_name = Workload.all.flat_map { |workload| workload.names.map { |name| [name, workload] } }.to_h
    unknown = options.names - by_name.keys
    raise OptionParser::InvalidArgument, "there is no #{unknown.join(", ")}; there are #{by_name.keys.join(", ")}" if unknown.any?

    options.names.map { |name| by_name.fetch(name) }.uniq
  end

  # Version of Penstock and of the librdkafka inside it, printed by a process of its own.
  def penstock
    env, ruby = RubySide.ours
    code = 'require "penstock"; require "penstock/native/producer"; print Penstock::VERSION, " with librdkafka ", Penstock::Native::LIBRDKAFKA_VERSION'
    IO.popen([env, *ruby, "-e", code], err: File::NULL, &:read)
  end

  def document(options)
    require_relative "harness/document"
    files = (options.docs == true) ? [RESULT, FAILOVER] : [options.docs]
    others = COLUMNS.select { |file| File.exist?(file) }
    files.select { |file| File.exist?(file) }.each do |file|
      Document.new(file, others).write(File.join(ROOT, "docs/performance.md"))
    end
    0
  end
end
