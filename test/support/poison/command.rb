# frozen_string_literal: true

require "optparse"
require "penstock/admin"
require_relative "../poison"
require_relative "../runner/kafka"
require_relative "row"

module Penstock
  module TestSupport
    module Poison
      # bin/poison: runs an application with bad records and through an outage on a real broker, and prints one row per
      # run. Starts a broker if none is set, and stops it at the end.
      class Command
        USAGE = <<~TEXT
          Usage: bin/poison [--records N] [--limit MS] [--outage SECONDS] [--bad PERCENT,…] [--modes order,key,retry,retry_by_key] [--rounds N]

          Runs an application with dead letters in which a share of the records is bad, and one whose database is unavailable for a
          while. Each row is checked: every good record is done, every bad one is a dead letter after exactly its attempts, holds
          end within the limit, an outage leaves no dead letter (in order at most the first nine,
          with errors that are not those of connecting). A rate is compared with that of a run without bad records just
          before; on a busy machine it is measured up to --rounds times (2). Exit code 1 when a row breaks a rule. Needs KAFKA_HOME or
          KAFKA_BOOTSTRAP_SERVERS.
        TEXT
        PARTITIONS = 6
        # Records of a run, and its time limit. In order each bad record delays its partition, so these runs are
        # shorter.
        RECORDS = {key: 12_000, retry_by_key: 12_000, retry: 12_000, order: 3_000}.freeze
        # From this percentage on a breaker can't distinguish bad records from an outage.
        MOST = 50
        LIMIT_SECONDS = 240
        OUTAGE_ERRORS = [Errno::ECONNREFUSED, IOError].freeze
        private_constant :RECORDS, :MOST, :LIMIT_SECONDS, :OUTAGE_ERRORS

        # @param arguments [Array<String>]
        # @param out [IO]
        def initialize(arguments, out: $stdout)
          @out = out
          @options = {limit: 3_000, outage: 60, bad: [1, 5, 20, 50, 100], modes: Row::NAMES.keys, records: nil, rounds: 2}
          parser.parse!(arguments)
          @broker = Runner::Kafka.new(out)
          @rows = []
          @topics = 0
        end

        # @return [Integer] the exit code
        def call
          servers = @broker.bootstrap_servers or return 1
          @kafka = {"bootstrap.servers": servers}
          @out.puts(Row::HEADING)
          @options[:modes].each { |mode| shares(mode) }
          outages if @options[:outage].positive?
          @rows.all?(&:right?) ? 0 : 1
        ensure
          @broker.stop
        end

        private

        def parser
          OptionParser.new(USAGE) do |options|
            options.on("--records N", Integer) { |value| @options[:records] = value }
            options.on("--limit MS", Integer) { |value| @options[:limit] = value }
            options.on("--outage SECONDS", Integer) { |value| @options[:outage] = value }
            options.on("--bad PERCENT", Array) { |value| @options[:bad] = value.map { |text| Integer(text) } }
            options.on("--rounds N", Integer) { |value| @options[:rounds] = value }
            options.on("--modes NAMES", Array) { |value| @options[:modes] = value.map(&:to_sym) }
          end
        end

        def shares(mode)
          @options[:bad].each do |percent|
            row = nil
            @options[:rounds].times do
              row = pair(mode, percent)
              break unless row.only_slow?
            end
            told(row)
          end
        end

        # Both runs follow each other directly, because the machine's load may change.
        def pair(mode, percent)
          alone = run(mode, 0) if percent < MOST
          Row.new(mode, percent, run(mode, percent), alone, @options[:limit])
        end

        # The rate during an outage isn't compared, so all of them run at the same time.
        def outages
          runs = @options[:modes].product(OUTAGE_ERRORS).map { |mode, error| [mode, error, topic] }.map do |mode, error, name|
            Thread.new { Row.new(mode, error, through_outage(mode, error, name), nil, nil) }
          end
          runs.each { |thread| told thread.value }
        end

        def told(row)
          @rows << row
          @out.puts(row)
          @out.flush
        end

        def run(mode, percent)
          bad = ->(number) { ((number * 7_919) + 13) % 100 < percent }
          count = @options[:records] || RECORDS.fetch(mode)
          count /= 5 if percent >= MOST
          Run.new(@kafka, topic, mode, count: count, partitions: PARTITIONS, bad: bad, keys: (percent < MOST) ? 500 : 1_000,
            breaker: {limit: @options[:limit]}).call(LIMIT_SECONDS)
        end

        def through_outage(mode, error, name)
          ends = nil
          away = lambda do
            ends ||= now + @options[:outage]
            error.new("database") if now < ends
          end
          Run.new(@kafka, name, mode, count: 2_400, partitions: PARTITIONS, away: away).call(LIMIT_SECONDS + @options[:outage])
        end

        def topic
          name = "poison-#{::Process.pid}-#{@topics += 1}"
          Admin.open(@kafka) do |admin|
            [name, "#{name}.dead", *(1..DELAYS.size).map { |tier| "#{name}-retry-#{tier}" }].each do |each|
              admin.create_topic(each, PARTITIONS, 1)
            end
          end
          name
        end

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end
  end
end

exit Penstock::TestSupport::Poison::Command.new(ARGV).call if $PROGRAM_NAME == __FILE__
