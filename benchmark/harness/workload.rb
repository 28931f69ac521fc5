# frozen_string_literal: true

require "securerandom"
require_relative "figure"
require_relative "ruby_side"
require_relative "side"
require_relative "statistics"

module Bench
  # Base of the workloads: one subclass per file in benchmark/workloads. A subclass defines its name, its title, its
  # sides and the figures that follow from their measurements; the harness runs the sides in turn, each in a new
  # process.
  class Workload
    class << self
      # @return [Array<Class>] in the order of their names
      def all = subclasses.sort_by { |workload| workload::NAME[/\d+/].to_i }

      # @return [Array<String>] names by which it may be requested; a workload's ALSO has more of them
      def names = [self::NAME, *(self::ALSO if const_defined?(:ALSO))]
    end

    # How many brokers it runs on; workloads on several run only when they are named.
    BROKERS = 1

    attr_reader :broker, :topics, :c_programs, :options

    def initialize(broker:, topics:, c_programs:, options:)
      @broker = broker
      @topics = topics
      @c_programs = c_programs
      @options = options
    end

    def name = self.class::NAME

    def title = self.class::TITLE

    # Figures of each run that the table of sides shows, by their JSON name.
    def columns = %w[rate cpu_s rss_mb objects]

    # Creates topics; called once before the sides run.
    def prepare
    end

    # @return [Array<Side>]
    def sides
      raise NotImplementedError, "#{self.class}#sides"
    end

    # @param results [Hash<Side, Array<Hash>>] the measurements of each run of each side
    # @return [Array<Figure>]
    def figures(results)
      raise NotImplementedError, "#{self.class}#figures"
    end

    private

    # A tenth of the records if the option --quick was given.
    def scaled(count)
      options.quick ? count / 10 : count
    end

    def group
      "bench-#{SecureRandom.hex(6)}"
    end

    def ruby(name, kind, program, settings = {}, **parameters, &after)
      Side.new(name: name, kind: kind, settings: settings, measure: lambda {
        result = RubySide.run(program, {bootstrap: broker.bootstrap, group: group, settings: settings, **parameters})
        after ? yield(result) : rated(result)
      })
    end

    def c(name, program, kafka = {}, **arguments)
      Side.new(name: name, kind: :bound, settings: kafka, measure: lambda {
        rated(run_c(program, kafka, **arguments))
      })
    end

    def run_c(program, kafka, **arguments)
      command = c_programs.command(program, kafka: kafka, bootstrap: broker.bootstrap, group: group, **arguments)
      child = Child.new(command, env: {}, chdir: RubySide::ROOT, log: RubySide.log_for("c/#{program}"))
      child.await("result", within: 180)
    ensure
      child&.stop
    end

    # Runs one of the Java tools to its end and returns its output.
    def java_tool(main, *arguments)
      command = broker.java(main, "--bootstrap-server", broker.bootstrap, *arguments)
      IO.popen(command, err: [:child, :out], &:read)
    end

    # Adds the values that follow from the stamps of a process.
    def rated(result)
      seconds = (result["last_ns"] - result["first_ns"]) / 1e9
      records = result["records"]
      result.merge(
        "seconds" => seconds.round(4), "rate" => (records / seconds).round,
        "rss_mb" => result["rss_kb"] && (result["rss_kb"] / 1024.0).round(1),
        "objects" => result["allocated"] && (result["allocated"].to_f / records).round(2)
      )
    end

    # Values of one column over the runs of the side of that name.
    def values(results, side_name, column)
      runs = results.find { |side, _| side.name == side_name }&.last || []
      runs.map { |run| run[column] }
    end

    def ratio(results, ours, theirs, column = "rate")
      Statistics.ratios(values(results, ours, column), values(results, theirs, column))
    end

    # Of several sides the one with the better median.
    def best(results, names, column = "rate")
      names.max_by { |side| Statistics.median(values(results, side, column)) || 0 }
    end

    def at_least(name, values, limit, unit = nil)
      Figure.new(workload: self.name, name: name, unit: unit, values: values, bound: :least, limit: limit)
    end

    def at_most(name, values, limit, unit = nil)
      Figure.new(workload: self.name, name: name, unit: unit, values: values, bound: :most, limit: limit)
    end

    def seen(name, values, unit = nil)
      Figure.new(workload: self.name, name: name, unit: unit, values: values)
    end
  end
end
