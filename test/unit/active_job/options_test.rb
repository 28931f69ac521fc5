# frozen_string_literal: true

require "test_helper"
require "penstock/active_job"

class ActiveJobOptionsTest < Penstock::TestCase
  Options = Penstock::ActiveJob::Options

  def setup
    super
    @parent = Class.new(ActiveJob::Base) { def self.name = "Parent" }
    @child = Class.new(@parent) { def self.name = "Child" }
  end

  test "a job waits for the broker by default, perform_all_later as perform_later" do
    assert_equal [:sync, :sync, nil, :key, nil], options(@child)
    @parent.penstock_options enqueue: :async
    assert_equal [:async, :async, nil, :key, nil], options(@child)
  end

  test "a subclass changes what it names and has the rest of its superclass" do
    by = ->(job) { job.arguments.first }
    @parent.penstock_options partition_by: by, enqueue_many: :async
    @child.penstock_options enqueue: :outbox, partition_key_type: :partition

    assert_equal [:outbox, :async, by, :partition, nil], options(@child)
    assert_equal [:sync, :async, by, :key, nil], options(@parent)
    assert_equal :sync, ActiveJob::Base.penstock_options.enqueue
  end

  test "[karafka_options] Karafka's names and values mean the same" do
    by, producer = ->(job) { job.job_id }, ->(_job) {}
    @child.karafka_options(dispatch_method: :produce_async, dispatch_many_method: :produce_many_sync, partitioner: by,
      partition_key_type: :partition_key, producer: producer)

    assert_equal [:async, :sync, by, :partition_key, producer], options(@child)
  end

  test "all mistakes are reported at once, with what to do instead" do
    error = assert_raises(ArgumentError) do
      @child.penstock_options enqueue: :later, partition_by: 5, unique: true, partitoner: nil, partition_key_type: :value
    end

    assert_equal "penstock_options of Child: enqueue must be :sync, :async or :outbox, is :later; partition_by must be an " \
      "object with the method call, is 5; there is no option :unique. jobs can't be unique: Kafka has no look-up by value. Let " \
      "a unique index of the database refuse the second run; there is no option :partitoner. Did you mean partition_by?; " \
      'partition_key_type must be "key" or "partition_key" or "partition", is :value', error.message
  end

  test "[not offered] what other adapters have is refused with what to do instead" do
    {priority: /workers priority: 10/, concurrency: /order: :key/, scheduled_messages_topic: /need no topic/}.each do |name, told|
      assert_match told, assert_raises(ArgumentError) { @child.penstock_options(name => 1) }.message
    end
    one = assert_raises(NotImplementedError) { @child.limits_concurrency(key: ->(id) { id }) }.message
    many = assert_raises(NotImplementedError) { @child.limits_concurrency(to: 3, key: ->(id) { id }) }.message

    assert_match(/limits_concurrency of Child .* order: :key/, one)
    assert_match(/at most 3 at a time isn't supported: bound the queue with `workers max: 3`/, many)
  end

  test "another adapter's limits_concurrency still works" do
    own = Class.new(ActiveJob::Base) do
      extend(Module.new { def limits_concurrency(**) = :theirs })
    end

    assert_equal :theirs, own.limits_concurrency(to: 2)
  end

  private

  def options(job_class) = job_class.penstock_options.to_h.values_at(:enqueue, :enqueue_many, :partition_by, :partition_key_type,
    :producer).tap { |values| values[1] = job_class.penstock_options.enqueue_many }
end
