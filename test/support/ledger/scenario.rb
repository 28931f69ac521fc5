# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"
require "tmpdir"
require "penstock/native/admin"
require "penstock/native/producer"
require_relative "../real_broker"
require_relative "journal"

module Penstock
  module TestSupport
    module Ledger
      # A topic, the processes that consume it, and their journals. Ends only processes that it started, by pid.
      class Scenario
        include Wait

        # One consumer process.
        Worker = Struct.new(:name, :pid, :journal_path, :log_path, :status, :reading, keyword_init: true) do
          def alive? = status.nil?
          def entries = (self.reading ||= Journal::Reading.new(journal_path)).entries
        end

        attr_reader :topics, :workers, :produced, :dir

        # @return [Float] the longest time between two rounds of {#feeding}: gaps can't be measured more exactly than
        #   that
        attr_reader :longest_pause_ms

        # @param bootstrap [String]
        # @param partitions [Integer] of each topic
        # @param topics [Array<String>]
        # @param group [String]
        def initialize(bootstrap, topics:, group:, partitions: 6)
          @bootstrap = bootstrap
          @topics = topics
          @group = group
          @partitions = partitions
          @dir = Dir.mktmpdir("penstock-ledger")
          @workers = []
          @produced = Hash.new(0)
          @ended = {}
          @looked_at = Hash.new(0)
          create
        end

        # Sends records, the same number to each partition.
        # @param count [Integer] per topic
        def produce(count, topic: @topics.first, bytes: 100)
          with_producer do |producer|
            count.times { |index| send_one(producer, topic, index % @partitions, "x" * bytes) }
            producer.flush(30_000) or raise "records were not delivered in time"
          end
        end

        # One record with a payload of its own.
        def produce_one(partition, payload, topic: @topics.first)
          with_producer do |producer|
            send_one(producer, topic, partition, payload)
            producer.flush(10_000)
          end
        end

        # Sends to every partition in turn on a thread of its own, while the block runs.
        # @param every_s [Float] pause between rounds
        def feeding(every_s)
          stop = false
          thread = Thread.new do
            with_producer(linger: "0") do |producer|
              feed(producer, every_s) until stop
              producer.flush(10_000)
            end
          end
          yield
        ensure
          stop = true
          thread&.join
        end

        # @param faults [String, nil] where the process is to die, see {Runtime::Faults}
        # @return [Worker]
        def start(faults: nil, **plan)
          name = "worker#{@workers.size}"
          journal, log = File.join(@dir, "#{name}.journal"), File.join(@dir, "#{name}.log")
          plan = {bootstrap: @bootstrap, topics: @topics, group: @group, journal: journal, log: log, **plan}
          pid = ::Process.spawn({"PENSTOCK_LEDGER" => JSON.generate(plan), "PENSTOCK_FAULTS" => faults}, RbConfig.ruby,
            *$LOAD_PATH.grep(/penstock-native/).map { |path| "-I#{path}" }, "-I#{File.expand_path("../../../lib", __dir__)}",
            File.join(__dir__, "worker.rb"), %i[out err] => [log, "a"])
          Worker.new(name: name, pid: pid, journal_path: journal, log_path: log).tap { |worker| @workers << worker }
        end

        # @return [::Process::Status]
        def stop(worker, signal = "TERM", timeout: 30)
          ::Process.kill(signal, worker.pid)
          wait(worker, timeout)
        end

        def wait(worker, timeout = 30)
          wait_until(timeout, "end of #{worker.name}", state: -> { tail(worker) }) { reap(worker) }
        end

        # @return [Journal] of all processes so far
        def journal = Journal.new(@workers.map(&:journal_path))

        # @return [Integer] records that some process ended
        def ended
          @workers.each do |worker|
            fresh = worker.entries.drop(@looked_at[worker.name])
            @looked_at[worker.name] += fresh.size
            fresh.each { |entry| @ended[[entry.topic, entry.partition, entry.offset]] = true if entry.kind == "E" }
          end
          @ended.size
        end

        # Waits until a process has written a line for which the block is true.
        def wait_for(worker, kind, timeout = 20, &block)
          wait_until(timeout, "#{kind} of #{worker.name}", state: -> { tail(worker) }) do
            worker.entries.find { |entry| entry.kind == kind && (block.nil? || yield(entry)) }
          end
        end

        def wait_for_all(timeout = 60)
          total = @produced.values.sum
          wait_until(timeout, "end of all #{total} records", state: -> {
            {ended: ended, lags: @workers.map { |worker|
              tail(worker)
            }}
          },
            every: 0.1) { ended >= total }
        end

        # The last lines that a worker has logged.
        def tail(worker) = File.exist?(worker.log_path) ? File.readlines(worker.log_path).last(15).join : nil

        def close
          @workers.select(&:alive?).each do |worker|
            ::Process.kill("KILL", worker.pid)
            ::Process.wait(worker.pid)
          end
          FileUtils.rm_rf(@dir) unless ENV["PENSTOCK_KEEP"]
        end

        private

        def create
          admin = Native::Admin.new({"bootstrap.servers" => @bootstrap})
          @topics.each { |topic| admin.create_topics([[topic, @partitions, 1, {}]], 20_000) }
        ensure
          admin&.close
        end

        def feed(producer, every_s)
          began = now_ms
          @topics.product((0...@partitions).to_a) { |topic, partition| send_one(producer, topic, partition, "x") }
          sleep(every_s)
          @longest_pause_ms = [@longest_pause_ms.to_f, now_ms - began].max
        end

        def now_ms = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :float_millisecond)

        def with_producer(linger: "5")
          producer = Native::Producer.new({"bootstrap.servers" => @bootstrap, "linger.ms" => linger})
          yield producer
        ensure
          producer&.close(5_000)
        end

        def send_one(producer, topic, partition, payload)
          producer.produce(topic, payload, partition: partition, handle: false)
          @produced[[topic, partition]] += 1
        rescue QueueFullError
          producer.flush(1_000)
          retry
        end

        def reap(worker)
          _pid, status = ::Process.wait2(worker.pid, ::Process::WNOHANG)
          worker.status = status
        end
      end
    end
  end
end
