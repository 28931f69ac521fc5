# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/admin"
require "support/native_member"
require "support/outbox"
require "support/real_broker"
require "support/ruby_program"

module Penstock
  # `penstock outbox` as users run it: a process of its own over an SQLite file, killed while it sends.
  class OutboxBrokerTest < TestCase
    include TestSupport::RealBroker

    BACKLOG = 400
    STEP = 100
    KEYS = 20
    PARTITIONS = 3
    KILLS = 5
    BOOT = <<~RUBY
      require "penstock"
      require "active_record"
      ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ENV.fetch("OUTBOX_FILE"), timeout: 20_000)
      Penstock::Outbox.setup { |config| config.batch_size = 60; config.poll_interval = 20 }
      class PenstockApp < Penstock::App
        setup { |config| config.kafka = {"bootstrap.servers": ENV.fetch("OUTBOX_SERVERS")} }
      end
    RUBY

    leaks_checked_per_class "the pool's connections stay open until the end"

    def self.before_all
      @folder = Dir.mktmpdir("outbox")
      TestSupport::Outbox.sqlite(@folder)
    end

    def self.after_all
      TestSupport::Outbox.disconnect
      FileUtils.remove_entry(@folder)
    end

    def setup
      @servers = bootstrap_servers
      @topic = unique("outbox")
      @folder = self.class.instance_variable_get(:@folder)
      File.write(File.join(@folder, "penstock.rb"), BOOT)
      settings = Outbox::Settings.new.finish!
      @database = Outbox::Database.new(settings)
      @writer = Outbox::Writer.new(@database, settings)
    end

    def teardown
      @enough = true
      ::Process.kill(:KILL, @relay) && ::Process.wait(@relay) if @relay
    end

    test "a relay that is killed five times while it sends: nothing lost, each key in order, duplicates have one outbox id" do
      make_topic
      writer = Thread.new { write }
      KILLS.times { kill_at_work }
      start
      @enough = true
      @count = writer.value
      wait_until(60, "an empty outbox", state: -> { log }, every: 0.05) { @database.rows.none? }

      assert_equal 0, stop("TERM"), log
      check(records)
    end

    private

    def make_topic
      admin = Penstock::Admin.new(kafka: {"bootstrap.servers": @servers})
      admin.create_topic(@topic, partitions: PARTITIONS, replication_factor: 1)
    ensure
      admin&.close
    end

    # There is always something to send while a relay is to be killed, and never so much that the end takes long.
    #
    # @return [Integer] how many
    def write
      ActiveRecord::Base.connection_pool.with_connection do
        numbers = 0...0
        until @enough
          numbers = numbers.end...(numbers.end + KEYS)
          put(numbers)
          wait_until(120, "room", every: 0.01) { @enough || @database.rows.count < BACKLOG }
        end
        numbers.end
      end
    end

    def put(numbers)
      ActiveRecord::Base.transaction do
        @writer.enqueue(numbers.map { |number| {topic: @topic, payload: number.to_s, key: "key#{number % KEYS}"} })
      end
    end

    # The number of the first row that is left shows the relay's progress.
    def kill_at_work
      start
      first = nil
      wait_until(90, "a relay at work", state: -> { log }) do
        lowest = @database.rows.minimum(:id)
        first ||= lowest
        lowest && lowest > first + STEP
      end
      stop("KILL")
    end

    def start
      command = [*TestSupport::RubyProgram.command, File.expand_path("../../exe/penstock", __dir__), "outbox"]
      @relay = ::Process.spawn({"OUTBOX_FILE" => File.join(@folder, "outbox.sqlite3"), "OUTBOX_SERVERS" => @servers,
        "PENSTOCK_ROOT_DIR" => @folder}, *command, :chdir => @folder, %i[out err] => [log_path, "a"])
    end

    def stop(signal)
      ::Process.kill(signal, @relay)
      wait_until(40, "the relay's end", state: -> { log }) { @status = ::Process.wait2(@relay, ::Process::WNOHANG)&.last }
      @relay = nil
      @status.exitstatus
    end

    def log_path = File.join(@folder, "log")

    def log = File.exist?(log_path) ? File.readlines(log_path).last(20) : []

    # @return [Array<Array(String, String, String)>] key, payload, outbox id, each partition in its order
    def records
      finish
      member = TestSupport::NativeMember.new(Struct.new(:bootstrap_servers).new(@servers), @topic, group_id: unique("reader"))
      member.turn_until(60, "the last records") { (0...PARTITIONS).all? { |partition| ended?(member, partition) } }
      all_rows(member).reject { |row| row.first == "end" }
    ensure
      member&.close
    end

    def finish
      producer = Producer.new { |config| config.kafka = {"bootstrap.servers": @servers} }
      PARTITIONS.times { |partition| producer.produce_sync(topic: @topic, payload: "", key: "end", partition: partition) }
    ensure
      producer&.close
    end

    def ended?(member, partition)
      batch = member.batches[[@topic, partition]].reverse_each.find { |one| one.size.positive? }
      batch && batch.key(batch.size - 1) == "end"
    end

    def all_rows(member)
      (0...PARTITIONS).flat_map { |partition| member.batches[[@topic, partition]].flat_map { |batch| rows(batch) } }
    end

    def rows(batch)
      Array.new(batch.size) do |index|
        [batch.key(index), batch.payload(index), batch.headers(index).to_h["penstock-outbox-id"]]
      end
    end

    def check(records)
      ids = records.group_by { |_, payload, _| payload }.transform_values { |list| list.map(&:last).uniq.size }

      assert_equal @count, ids.size, "lost"
      assert_equal [1], ids.values.uniq, "a duplicate has another id"
      assert_operator records.size - @count, :<=, KILLS * 60, "more duplicates than the interrupted turns"
      records.group_by(&:first).each { |key, list| assert_in_order(key, list.map { |_, payload, _| payload.to_i }) }
    end

    # One by one, or starting again at one that was sent before.
    def assert_in_order(key, numbers)
      highest = numbers.first - KEYS
      numbers.each do |number|
        assert_operator number, :<=, highest + KEYS, "#{key}: #{number} behind #{highest}"
        highest = [highest, number].max
      end
    end
  end
end
