# frozen_string_literal: true

require_relative "harness/broker"
require_relative "harness/c_programs"
require_relative "harness/machine"
require_relative "harness/options"
require_relative "harness/peers"
require_relative "harness/report"
require_relative "harness/runner"
require_relative "harness/topics"
require_relative "harness/workload"

Dir[File.join(__dir__, "workloads/*.rb")].sort.each { |file| require file }

# Measures Penstock against its promises and against other libraries. Nothing here is part of the gem.
module Bench
  ROOT = File.expand_path("..", __dir__)
  RESULT = File.join(__dir__, "results/reference.json")
  # The same workloads with Ruby's compiler: a column of its own in docs/performance.md.
  COMPILED = File.join(__dir__, "results/yjit.json")

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
    c_programs = CPrograms.new
    Broker.open do |broker|
      topics = Topics.new(broker, c_programs)
      topics.warm_up
      workloads = classes.map do |workload|
        workload.new(broker: broker, topics: topics, c_programs: c_programs, options: options)
      end
      outcomes = workloads.map { |workload| Runner.new(workload, options).run }
      Report.new(outcomes,
        {runs: options.runs, switches: RubySide.switches,
         **Machine.facts(broker: broker, peers: Peers.versions, penstock: penstock)})
    end
  end

  def chosen(options)
    return Workload.all if options.names.empty?

    by_name = Workload.all.flat_map { |workload| workload.names.map { |name| [name, workload] } }.to_h
    unknown = options.names - by_name.keys
    raise OptionParser::InvalidArgument, "there is no #{unknown.join(", ")}; there are #{by_name.keys.join(", ")}" if unknown.any?

    options.names.map { |name| by_name.fetch(name) }.uniq
  end

  # Version of Penstock and of the librdkafka inside it, told by a process of its own.
  def penstock
    env, ruby = RubySide.ours
    code = 'require "penstock"; require "penstock/native/producer"; print Penstock::VERSION, " with librdkafka ", Penstock::Native::LIBRDKAFKA_VERSION'
    IO.popen([env, *ruby, "-e", code], err: File::NULL, &:read)
  end

  def document(options)
    require_relative "harness/document"
    compiled = COMPILED if File.exist?(COMPILED)
    Document.new((options.docs == true) ? RESULT : options.docs, compiled).write(File.join(ROOT, "docs/performance.md"))
    0
  end
end
