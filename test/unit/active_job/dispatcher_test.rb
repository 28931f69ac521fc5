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

    def produce_many_async(list, **) = messages.concat(list)
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

  test "a job for which its class's producer: returns nil isn't enqueued, with the option's name; others are" do
    producer = @producer
    chooses = Class.new(@plain) do
      def self.name = "ChoosingJob"
      penstock_options producer: ->(job) { producer if job.arguments.first }, enqueue_many: :async
    end
    text = /penstock_options of ChoosingJob, producer: returned no producer.*Let it return one for each job/
    assert_match text, assert_raises(Penstock::ConfigurationError) { chooses.perform_later(false) }.message
    jobs = [true, false, true].map { |sent| chooses.new(sent) }
    assert_match text, assert_raises(Penstock::ConfigurationError) { ActiveJob.perform_all_later(jobs) }.message

    assert_equal [true, false, true], jobs.map(&:successfully_enqueued?)
    assert_match text, jobs[1].enqueue_error.message
    assert_equal 2, producer.messages.size
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

  # Rails 7.2 has words, later versions a flag.
  WAITS = (ActiveJob.version < Gem::Version.new("8.0")) ? :always : true

  test "with Rails' waiting for the commit: other jobs wait, those of the outbox are written at once" do
    @plain.enqueue_after_transaction_commit = WAITS

    assert_equal({inside: [0, 0], after: [1, 0]}, enqueued { @plain.perform_later })
    assert_equal({inside: [0, 1], after: [0, 1]}, enqueued { @job_class.perform_later("k") })
  end

  test "so it is if the class, or a subclass, asks Rails to wait" do
    @job_class.enqueue_after_transaction_commit = WAITS
    child = Class.new(@job_class) { self.enqueue_after_transaction_commit = WAITS }

    [@job_class, child].each do |type|
      assert_equal({inside: [0, 1], after: [0, 1]}, enqueued { type.perform_later("k") })
    end
  end

  # Before 8.1 Rails doesn't wait with many jobs.
  test "many jobs wait by the way in which many are enqueued, a single one by its own" do
    @plain.enqueue_after_transaction_commit = WAITS
    single = (ActiveJob.version < Gem::Version.new("8.1")) ? 1 : 0
    many = Class.new(@plain) { penstock_options enqueue_many: :outbox }
    one = Class.new(@plain) { penstock_options enqueue: :outbox, enqueue_many: :async }

    assert_equal({inside: [0, 1], after: [0, 1]}, enqueued { ActiveJob.perform_all_later(many.new) })
    assert_equal({inside: [0, 0], after: [1, 0]}, enqueued { many.perform_later })
    assert_equal({inside: [single, 0], after: [1, 0]}, enqueued { ActiveJob.perform_all_later(one.new) })
    assert_equal({inside: [0, 1], after: [0, 1]}, enqueued { one.perform_later })
  end

  test "a subclass that leaves the outbox waits as Rails does by default, or as a superclass has set, whenever it has" do
    back = Class.new(@job_class) { penstock_options enqueue: :sync }
    assert_equal ActiveJob::Base.enqueue_after_transaction_commit, back.enqueue_after_transaction_commit

    @plain.enqueue_after_transaction_commit = WAITS
    assert_equal WAITS, back.enqueue_after_transaction_commit
    assert_equal({inside: [0, 0], after: [1, 0]}, enqueued { back.perform_later("k") })
    refute_equal WAITS, @job_class.enqueue_after_transaction_commit
  end

  private

  # Enqueues in a transaction.
  # @return [Hash] how many jobs the producer and the outbox got inside of it, and until it has ended
  def enqueued
    before = counts
    inside = nil
    ActiveRecord::Base.transaction do
      yield
      inside = counts
    end
    {inside: inside, after: counts}.transform_values { |now| now.zip(before).map { |count, was| count - was } }
  end

  def counts = [@producer.messages.size, stored.size]

  # The module's settings, and the rows, begin again.
  def reset
    Penstock::Outbox.setup { |_config| nil }
    ActiveRecord::Base.connection.execute("DELETE FROM penstock_outbox")
  end

  def stored = ActiveRecord::Base.connection.select_all("SELECT * FROM penstock_outbox").to_a
end
