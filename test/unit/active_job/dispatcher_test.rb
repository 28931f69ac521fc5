# frozen_string_literal: true

require "test_helper"
require "json"
require "logger"
require "penstock"
require "penstock/active_job"
require "penstock/outbox"
require "active_job/enqueue_after_transaction_commit"
require "support/outbox"

# Jobs with `enqueue: :outbox`, over an SQLite file, with and without Rails' own waiting for the commit.
class ActiveJobDispatcherTest < Penstock::TestCase
  include Penstock::TestSupport::Outbox

  extend Penstock::TestSupport::Outbox::OnSQLite

  # As the Railtie of Active Job does where there is Active Record.
  class WaitingBase < ActiveJob::Base
    include ActiveJob::EnqueueAfterTransactionCommit

    def perform(*) = nil
  end

  Report = Struct.new(:topic, :partition, :offset)

  # Produces nothing: the table is what counts.
  Producer = Struct.new(:messages) do
    def produce_sync(message)
      messages << message
      Report.new(message[:topic], 0, messages.size)
    end
  end

  def setup
    super
    reset
    @logger, ActiveJob::Base.logger = ActiveJob::Base.logger, Logger.new(nil)
    @producer = producer = Producer.new([])
    adapter = ActiveJob::QueueAdapters::PenstockAdapter.new(producer: -> { producer })
    @plain = Class.new(WaitingBase) do
      def self.name = "PlainJob"
      self.queue_adapter = adapter
    end
    @job_class = Class.new(@plain) do
      def self.name = "OutboxJob"
      penstock_options enqueue: :outbox, partition_by: ->(job) { job.arguments.first }
    end
  end

  def teardown
    reset
    ActiveJob::Base.logger = @logger
    super
  end

  test "a job is a row of the caller's transaction: it is there before the commit, and gone with a rollback" do
    ActiveRecord::Base.transaction do
      job = @job_class.perform_later("k")

      assert_equal 1, stored.size
      assert_match(/\Aoutbox\/\d+\z/, job.provider_job_id)
      raise ActiveRecord::Rollback
    end

    assert_empty stored
  end

  test "topic, key and payload of the row are the job's" do
    ActiveRecord::Base.transaction { @job_class.set(queue: "ledger").perform_later("k") }
    row = stored.first

    assert_equal ["ledger", "k", "OutboxJob"], [*row.values_at("topic", "message_key"), JSON.parse(row["payload"])["job_class"]]
  end

  test "outside of a transaction it has one of its own, many of them together" do
    @job_class.perform_later("k")
    jobs = Array.new(3) { |index| @job_class.new("k#{index}") }
    ActiveJob.perform_all_later(jobs)

    assert_equal 4, stored.size
    assert_equal 3, jobs.map(&:provider_job_id).uniq.size
    assert(jobs.all?(&:successfully_enqueued?))
  end

  test "with Rails' waiting for the commit: other jobs wait, those of the outbox are written at once" do
    waits = (ActiveJob.version < Gem::Version.new("8.0")) ? :always : true
    @plain.enqueue_after_transaction_commit = waits
    @job_class.penstock_options enqueue: :outbox
    ActiveRecord::Base.transaction do
      @plain.perform_later
      @job_class.perform_later("k")

      assert_equal [0, 1], [@producer.messages.size, stored.size]
    end

    assert_equal [1, 1], [@producer.messages.size, stored.size]
  end

  test "a subclass that leaves the outbox waits again as Rails does by default, or as its superclass did before" do
    back = Class.new(@job_class) { penstock_options enqueue: :sync }

    assert_equal ActiveJob::Base.enqueue_after_transaction_commit, back.enqueue_after_transaction_commit
    refute_equal true, @job_class.enqueue_after_transaction_commit

    @plain.enqueue_after_transaction_commit = waits = (ActiveJob.version < Gem::Version.new("8.0")) ? :always : true
    child = Class.new(@plain) { penstock_options enqueue: :outbox }
    grandchild = Class.new(child) { penstock_options enqueue: :sync }
    refute_equal waits, child.enqueue_after_transaction_commit
    assert_equal waits, grandchild.enqueue_after_transaction_commit
  end

  private

  # The module's settings, and the rows, begin again.
  def reset
    Penstock::Outbox.setup { |_config| nil }
    ActiveRecord::Base.connection.execute("DELETE FROM penstock_outbox")
  end

  def stored = ActiveRecord::Base.connection.select_all("SELECT * FROM penstock_outbox").to_a
end
