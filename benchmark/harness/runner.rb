# frozen_string_literal: true

module Bench
  Outcome = Struct.new(:workload, :results, :figures)

  # Runs the sides of one workload in turn, A B A B, so that changes of the machine's load affect all of them.
  class Runner
    def initialize(workload, options, out: $stderr)
      @workload = workload
      @options = options
      @out = out
    end

    # @return [Outcome]
    def run
      @out.puts "#{@workload.name}: preparing"
      @workload.prepare
      sides = @workload.sides.select { |side| @options.wanted?(side) }
      results = sides.to_h { |side| [side, []] }
      @options.runs.times do |round|
        sides.each { |side| results[side] << measure(side, round) }
      end
      Outcome.new(@workload, results, @workload.figures(results))
    end

    private

    def measure(side, round)
      broker_cpu = @workload.broker.cpu_seconds
      result = side.measure.call
      result["broker_cpu_s"] = (@workload.broker.cpu_seconds - broker_cpu).round(2) if broker_cpu
      @out.puts "#{@workload.name} #{round + 1}/#{@options.runs} #{side.name}: #{brief(result)}"
      result
    rescue => error
      @out.puts "#{@workload.name} #{round + 1}/#{@options.runs} #{side.name}: #{error.message}"
      {"error" => error.message.lines.first.to_s.strip}
    end

    def brief(result)
      shown = result.except("event", "first_ns", "last_ns", "bytes", "version")
      shown.map { |key, value| "#{key} #{value}" }.join(", ")
    end
  end
end
