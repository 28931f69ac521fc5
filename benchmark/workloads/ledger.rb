# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # The cost of tracking for each record whether it is done. Needs no broker of its own.
  class Ledger < Workload
    NAME = "LEDGER"
    TITLE = "windows of 10,000 records that complete in random order; sparse: 100 offsets apart"
    RECORDS = 10_000_000
    CORE = File.expand_path("../../ext/penstock_core/core", __dir__)

    def columns = %w[admit_ns complete_ns pressure_us encode_us]

    # The program contains the ledger's own sources, which the harness doesn't know of.
    def prepare
      program = File.join(CPrograms::BUILD, "ledger")
      return unless File.exist?(program)

      FileUtils.rm_f(program) if Dir[File.join(CORE, "*.{c,h}")].any? { |path| File.mtime(path) > File.mtime(program) }
    end

    def sides
      [
        c("C", "ledger", records: records, window: 10_000, stride: 1),
        c("C sparse", "ledger", records: records, window: 10_000, stride: 100),
        ruby("Ruby", :ours, "penstock/ledger.rb", records: records / 5, window: 10_000, stride: 1),
        ruby("Ruby sparse", :ours, "penstock/ledger.rb", records: records / 5, window: 10_000, stride: 100)
      ]
    end

    def figures(results)
      [
        at_most("complete in C", values(results, "C", "complete_ns"), 100, "ns"),
        at_most("complete in C, sparse", values(results, "C sparse", "complete_ns"), 100, "ns"),
        seen("complete through Ruby, call and loop", values(results, "Ruby", "complete_ns"), "ns"),
        seen("a commit's envelope of a window half done", values(results, "Ruby", "encode_us"), "µs")
      ]
    end

    private

    def records = scaled(RECORDS)
  end
end
