# frozen_string_literal: true

module Penstock
  module TestSupport
    module Runner
      # The text that `bin/ledger --help` prints. It is a file of its own because it is printed before anything is set up.
      LEDGER_USAGE = <<~TEXT
        Usage: bin/ledger NAME… | all | short [--seed N] [--rounds N] [--part NAME] [--time FACTOR] [--keep]
               bin/ledger soak|growth [--minutes N] [--seed N] [--rate N] [--keep]
               bin/ledger --list | table [--write]

        Puts faults into running systems and checks the result for every record. NAME is a case, such as T01 (--list has them);
        "all" runs every case (about two hours), "short" what bin/test runs (four minutes), "soak" all kinds of work at once under
        random faults, "growth" whether memory, descriptors or threads grow while connections are reset and groups rebalance.
        "table" prints the last results as Markdown.

        Results are JSON files in tmp/ledger. A part that fails keeps its journals and logs in tmp/ledger/runs (--keep: every part
        does) and prints the command that repeats it. Exit code: 0 nothing failed, 1 something did, 130 after Ctrl-C. Parts that
        need Kafka are skipped, and reported as skipped, without KAFKA_HOME.
      TEXT
    end
  end
end

puts Penstock::TestSupport::Runner::LEDGER_USAGE if $PROGRAM_NAME == __FILE__
