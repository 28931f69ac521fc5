# frozen_string_literal: true

require "optparse"

module Bench
  # The command line of bin/bench.
  Options = Struct.new(:names, :json, :runs, :quick, :peers, :side, :yjit, :docs, keyword_init: true) do
    def self.parse(argv)
      options = new(names: [], runs: 3, quick: false, peers: false)
      rest = parser(options).parse(argv)
      options.names = rest.map(&:upcase)
      options.runs = 1 if options.quick
      options
    end

    def self.parser(options)
      OptionParser.new do |parser|
        parser.banner = "usage: bin/bench [NAME…] [--peers] [--runs N] [--quick] [--side TEXT] [--yjit] [--json FILE]"
        parser.separator "Without NAME: all workloads except ROLLING and COORDINATOR, which restart or kill three brokers."
        parser.on("--peers",
          "measure the other libraries in the same run (installs them into benchmark/peers/vendor)") {
          options.peers = true
        }
        parser.on("--runs N", Integer, "fresh processes a side (3)") { |count| options.runs = count }
        parser.on("--quick", "a tenth of the records and one run: checks that it works, not how fast") {
          options.quick = true
        }
        parser.on("--side TEXT", "only sides whose name contains TEXT") { |text| options.side = text }
        parser.on("--yjit", "every side in Ruby with its compiler switched on") { options.yjit = true }
        parser.on("--json FILE", "write figures, machine, versions and settings") { |path| options.json = path }
        parser.on("--docs [FILE]", "measure nothing: copy the figures of a JSON file into docs/performance.md") { |path|
          options.docs = path || true
        }
      end
    end
    private_class_method :parser

    def wanted?(side)
      return false if side.kind == :peer && !peers

      self.side.nil? || side.name.downcase.include?(self.side.downcase)
    end
  end
end
