# frozen_string_literal: true

require "test_helper"
require "json"
require "support/child"
require "support/outbox_on_postgresql"
require "support/ruby_program"

module Penstock
  # Jobs with `enqueue: :outbox` in a PostgreSQL of their own, enqueued by a process that rolls back, and is then killed.
  # active_job/dispatcher_test.rb has an SQLite file in one process.
  class ActiveJobOutboxTest < TestCase
    include TestSupport::Outbox
    include TestSupport::OutboxOnPostgreSQL

    PROGRAM = File.expand_path("../../support/outbox_jobs/committer.rb", __dir__)

    def setup
      super
      ActiveRecord::Base.connection.create_table(:orders, force: true) { |table| table.integer :total }
      @produced = File.join(Dir.mktmpdir, "produced")
    end

    def teardown
      FileUtils.rm_rf(File.dirname(@produced)) if @produced
      super
    end

    test "[Active Job outbox] a transaction that is rolled back enqueues nothing, and a process that is killed right after its commit " \
      "has enqueued the job, as Rails waits for commits by default" do
      run_until_killed("after", waits: nil)

      assert_committed
    end

    test "the same where Rails waits for the commit: then the job that doesn't go through the outbox is lost" do
      run_until_killed("after", waits: true)

      assert_committed
      assert_empty produced
    end

    test "the same where Rails doesn't wait: then the other job is sent although its transaction was rolled back" do
      run_until_killed("after", waits: false)

      assert_committed
      assert_equal ["PlainJob 1", "PlainJob 2"], produced
    end

    test "a process that is killed before its commit has enqueued nothing through the outbox" do
      run_until_killed("before", waits: true)

      assert_equal [[], 0, []], [orders, relay.drain, @log.payloads]
    end

    private

    def run_until_killed(dies, waits:)
      plan = {database: self.class.server.options, waits: waits, dies: dies, produced: @produced}
      ended = TestSupport::Child.run(TestSupport::RubyProgram.command(PROGRAM), timeout: 120,
        env: {"OUTBOX_JOBS" => JSON.generate(plan)})

      assert_equal Signal.list.fetch("KILL"), ended.status.termsig, ended.to_s
    end

    # The relay sends the job of the second transaction, once.
    def assert_committed
      assert_equal [2], orders
      assert_equal [1, 0], [relay.drain, relay.drain]
      assert_equal [["OutboxJob", [2]]], @log.payloads.map { |payload| JSON.parse(payload).values_at("job_class", "arguments") }
    end

    def orders = ActiveRecord::Base.connection.select_values("SELECT total FROM orders")
    def produced = File.exist?(@produced) ? File.readlines(@produced, chomp: true) : []
  end
end
