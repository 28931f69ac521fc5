# frozen_string_literal: true

require "fileutils"
require "json"
require "penstock/native/admin"
require "penstock/native/producer"
require "tmpdir"
require_relative "native_member"
require_relative "ruby_program"
require_relative "wait"

module Penstock
  module TestSupport
    # Processes that copy records in transactions. A test kills, stops and starts them; a reader of committed records
    # then checks that each record is there once, in the order of its partition or key, as a copy or as a dead letter.
    # Ends only processes that it started, by pid.
    class Copiers
      include Wait

      PROGRAM = File.join(__dir__, "copiers", "worker.rb")
      POINTS = %w[produced marked before_offsets after_offsets while_committing after_commit].freeze
      KEYS = 7
      PARTITIONS = 2
      TIMES = {"heartbeat.interval.ms": 300, "transaction.timeout.ms": 5_000, "message.timeout.ms": 4_000,
               "auto.commit.interval.ms": 500}.freeze
      # Settings of a copier whose absence the group notices soon, and which rejoins as a new member.
      MISSED = {"session.timeout.ms": 3_000}.freeze
      Address = Struct.new(:bootstrap_servers)

      # @param bootstrap_servers [String]
      # @param name [String] prefix of its topics, used by no other test
      # @param by [String, nil] "key"
      def initialize(bootstrap_servers, name, by: nil)
        @address = Address.new(bootstrap_servers)
        @dir = Dir.mktmpdir("penstock-copiers")
        @topics = %w[source target dead].to_h { |what| [what.to_sym, "#{name}-#{what}"] }
        @plan = {**@topics, group: "#{name}-group", by: by}
        @by = by
        @name = name
        @pids = []
        @count = 0
        create_topics
      end

      # Writes records; every 25th makes the copier's processing fail.
      def feed(count)
        producer = Native::Producer.new({"bootstrap.servers" => @address.bootstrap_servers, "linger.ms" => "0"})
        count.times do
          number = @count += 1
          payload = (number % 25 == 0) ? "bad #{number}" : number.to_s
          producer.produce(@topics[:source], payload, "k#{number % KEYS}", partition: number % KEYS % PARTITIONS, handle: false)
        end
        producer.flush(20_000) or raise "not delivered"
      ensure
        producer&.close(2_000)
      end

      # @param id [String] its transactional id
      # @param missed [Boolean] whether the group notices soon that it has ended; otherwise its successor takes over its
      #   membership
      # @param trouble [Hash] `point`, `how`, `after`
      # @return [Integer] its pid
      def start(id, missed: false, **trouble)
        place = missed ? MISSED : {"group.instance.id": "#{@name}-#{id}", "session.timeout.ms": 20_000}
        properties = {"bootstrap.servers": @address.bootstrap_servers, "transactional.id": "#{@name}-#{id}", **place, **TIMES}
        plan = JSON.generate({**@plan, kafka: properties, **trouble})
        ::Process.spawn({"PENSTOCK_COPIERS" => plan}, *RubyProgram.command(PROGRAM), %i[out err] => [log, "a"])
          .tap { |pid| @pids << pid }
      end

      def await_end(pid, seconds = 40)
        wait_until(seconds, "the end of a copier", state: -> { tail }) { ::Process.wait(pid, ::Process::WNOHANG) }
        @pids.delete(pid)
      end

      def await_stopped(pid)
        flags = ::Process::WNOHANG | ::Process::WUNTRACED
        wait_until(40, "a copier that has stopped (SIGSTOP)", state: -> { tail }) { ::Process.wait(pid, flags) && $?.stopped? }
      end

      def signal(name, pid) = ::Process.kill(name, pid)

      def stop(pid)
        signal("TERM", pid)
        await_end(pid)
      end

      # @return [Integer] copies and letters committed so far
      def done = seen(:target).size + seen(:dead).size

      # Waits until every record that was written is copied or dead-lettered, counting what is committed.
      # @param count [Integer]
      def await(count = @count, seconds: 60)
        wait_until(seconds, "#{count} records", state: -> { [done, tail] }) { done >= count }
      end

      # @return [Array<String>] what is wrong with the final result
      def wrong
        copies, letters = seen(:target), seen(:dead)
        all = (1..@count).map { |number| (number % 25 == 0) ? "bad #{number}" : number.to_s }
        [*difference("copies", copies, all.grep(/\A\d/)), *difference("dead letters", letters, all.grep(/bad/)),
          *disordered(copies)]
      end

      def close
        @pids.each do |pid|
          signal("KILL", pid)
          ::Process.wait(pid)
        end
        @readers&.each_value(&:close)
        FileUtils.rm_rf(@dir)
      end

      def tail = File.exist?(log) ? File.readlines(log).last(30).join : ""

      private

      def log = File.join(@dir, "log")

      def create_topics
        admin = Native::Admin.new({"bootstrap.servers" => @address.bootstrap_servers})
        admin.create_topics(@topics.values.map { |topic| [topic, PARTITIONS, 1, {}] }, 20_000)
      ensure
        admin&.close
      end

      # Reads the results so far, on one connection per topic. On a busy machine its group may expel it; then it reads
      # from the beginning again, and what is read at one offset counts once.
      def seen(what)
        reader = (@readers ||= {})[what] ||= NativeMember.new(@address, @topics[what], group_id: "#{@name}-#{what}",
          isolation_level: "read_committed", auto_offset_reset: "earliest")
        10.times { reader.turn(50) }
        reader.batches.values.flat_map { |batches| batches.flat_map { |batch| records(batch) }.to_h.values }
      end

      def records(batch) = Array.new(batch.size) { |index| [batch.offset(index), batch.payload(index)] }

      def difference(name, found, expected)
        doubled = found.tally.select { |_one, times| times > 1 }
        missing = expected - found
        strange = found - expected
        [doubled, missing, strange].zip(%w[doubled missing strange]).filter_map do |what, how|
          "#{how} #{name}: #{what.first(10).inspect}" unless what.empty?
        end
      end

      def disordered(copies)
        copies.map(&:to_i).group_by { |number| number % KEYS }.filter_map do |key, numbers|
          "out of order in k#{key}: #{numbers.each_cons(2).find { |one, two| one > two }}" unless numbers == numbers.sort
        end
      end
    end
  end
end
