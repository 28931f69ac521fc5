# frozen_string_literal: true

require "test_helper"
require "json"
require "logger"
require "stringio"
require "penstock"
require "penstock/active_job"

class ActiveJobAdapterTest < Penstock::TestCase
  # A producer that keeps what it is sent and answers as the test sets.
  class Producer
    Report = Struct.new(:topic, :partition, :offset, :error) do
      def delivered? = error.nil?
    end
    Handle = Struct.new(:create_result) do
      def error = create_result.error
      def uid = ("#{create_result.topic}/#{create_result.partition}/#{create_result.offset}" unless error)
    end

    attr_reader :calls
    attr_accessor :error, :undelivered, :accepted

    def initialize
      @calls = []
      @undelivered = []
    end

    def produce_sync(message)
      took(:sync, [message])
      Report.new(message[:topic], 0, @calls.size)
    end

    def produce_async(message) = took(:async, [message])
    def produce_many_async(messages, handle:) = took(:many_async, messages, handle)

    def produce_many_sync(messages)
      took(:many_sync, messages)
      handles = messages.first(accepted || messages.size).each_with_index.map do |message, index|
        Handle.new(Report.new(message[:topic], 1, index, (IOError.new("not stored") if undelivered.include?(index))))
      end
      return handles if undelivered.empty? && accepted.nil?
      raise Penstock::ProduceManyError.new("some were not delivered", dispatched: handles)
    end

    def messages = calls.flat_map { |_way, messages| messages }

    private

    def took(way, messages, *more)
      raise error if error
      @calls << [way, messages, *more]
    end
  end

  # A scheduler of delays that keeps its arguments in the message.
  class Scheduler
    def call(message, due_ms)
      {topic: "delays", payload: message[:payload], headers: {"due" => due_ms.to_s, "to" => message[:topic]}}
    end

    def draw(_level) = nil
  end

  def setup
    super
    @producer = Producer.new
    producer = @producer
    @logger = ActiveJob::Base.logger
    ActiveJob::Base.logger = Logger.new(nil)
    @job_class = Class.new(ActiveJob::Base) do
      def self.name = "NamedJob"
      self.queue_adapter = ActiveJob::QueueAdapters::PenstockAdapter.new(producer: -> { producer })
      queue_as :mailers
      def perform(*) = nil
    end
  end

  def teardown
    ActiveJob::Base.logger = @logger
    Penstock::ActiveJob::Later.scheduler = nil
    super
  end

  test "the adapter is found by its name, and its name is Penstock" do
    own = Class.new(ActiveJob::Base) { self.queue_adapter = :penstock }

    assert_kind_of ActiveJob::QueueAdapters::PenstockAdapter, own.queue_adapter
    assert_equal "penstock", own.queue_adapter_name
  end

  test "a job becomes a message of its queue's topic, with Rails' own data as JSON" do
    job = @job_class.perform_later(1, "ä", at: Date.new(2026, 1, 2))
    way, messages = @producer.calls.first
    message = messages.first

    assert_equal [:sync, "mailers", %i[topic payload]], [way, message[:topic], message.keys]
    assert_equal JSON.parse(JSON.generate(job.serialize.except("enqueued_at", "provider_job_id"))),
      JSON.parse(message[:payload]).except("enqueued_at", "provider_job_id")
    assert_equal "mailers/0/1", job.provider_job_id
    assert_nil JSON.parse(message[:payload])["provider_job_id"]
  end

  test "a payload that Karafka's adapter has written is a job here, and ours has the same keys" do
    karafkas = '{"job_class":"Recorded","job_id":"f1","provider_job_id":null,"queue_name":"mailers","priority":null,' \
      '"arguments":["\\u003cb\\u003e",{"_aj_serialized":"ActiveJob::Serializers::SymbolSerializer","value":"a"},' \
      '{"on":1,"_aj_ruby2_keywords":["on"]}],"executions":0,"exception_executions":{},"locale":"en","timezone":"UTC",' \
      '"enqueued_at":"2026-01-02T03:04:05.000000006Z",' \
      '"scheduled_at":null}'
    Object.const_set(:Recorded, Class.new(ActiveJob::Base) do
      class << self
        attr_accessor :seen
      end
      def perform(*arguments, **options) = self.class.seen = [arguments, options, enqueued_at.nsec]
    end)
    ActiveJob::Base.execute(JSON.parse(karafkas))
    @job_class.perform_later

    assert_equal [["<b>", :a], {on: 1}, 6], Recorded.seen
    assert_equal JSON.parse(karafkas).keys.sort, JSON.parse(@producer.messages.first[:payload]).keys.sort
  ensure
    Object.send(:remove_const, :Recorded)
  end

  test "a job that runs and is enqueued again is stored before its record is completed, even if its class enqueues asynchronously" do
    job = Class.new(@job_class) { penstock_options enqueue: :async }.new
    message = Struct.new(:topic, :partition, :raw_key).new("other", 0, nil)
    Penstock::ActiveJob::Running.within(nil, message, job.job_id) { job.enqueue }
    job.enqueue

    assert_equal [[:sync], [:async]], @producer.calls.map { |call| call.first(1) }
  end

  test "ways of enqueueing: asynchronously there is no id yet; each class may have a producer" do
    other = Producer.new
    asynchronous = Class.new(@job_class) { penstock_options enqueue: :async }
    elsewhere = Class.new(@job_class) { penstock_options producer: ->(job) { other if job.arguments == [1] } }

    assert_nil asynchronous.perform_later.provider_job_id
    elsewhere.perform_later(1)
    assert_equal [[:async], [:sync]], [@producer.calls.map(&:first), other.calls.map(&:first)]
  end

  test "partition_by gives the key, the partition key or the partition; nil gives none" do
    {key: {key: "7"}, partition_key: {partition_key: "7"}, partition: {partition: 7}}.each do |type, expected|
      job = Class.new(@job_class) { penstock_options partition_by: ->(job) { job.arguments.first }, partition_key_type: type }
      job.perform_later(7)
      job.perform_later(nil)

      assert_equal [expected, {}], @producer.messages.last(2).map { |message| message.except(:topic, :payload) }
    end
  end

  test "a job that isn't acknowledged raises, instead of perform_later's false; it knows that it isn't enqueued" do
    @producer.error = Penstock::ProduceError.new("mailers: not stored", topic: "mailers")
    job = @job_class.new

    assert_raises(Penstock::ProduceError) { job.enqueue }
    refute job.successfully_enqueued?
  end

  test "what can't be sent names the class, the queue and the way out" do
    @producer.error = Penstock::MessageInvalidError.new(":topic must be a name, is \"a queue\"")
    error = assert_raises(Penstock::MessageInvalidError) { @job_class.set(queue: "a queue").perform_later }
    assert_equal "NamedJob can't be enqueued in the queue \"a queue\", which is a topic here: :topic must be a name, " \
      "is \"a queue\"", error.message
    [["\xFF"], [Float::NAN]].each do |arguments|
      error = assert_raises(ActiveJob::SerializationError) { @job_class.perform_later(*arguments) }
      assert_match(/NamedJob can't be enqueued: its data can't be written as JSON .* valid UTF-8/, error.message)
    end
  end

  test "perform_all_later makes one call for each way, and each job knows its record" do
    asynchronous = Class.new(@job_class) { penstock_options enqueue: :async }
    jobs = [@job_class.new(1), asynchronous.new(2), @job_class.new(3)]
    ActiveJob.perform_all_later(jobs)

    assert_equal [[:many_sync, 2], [:many_async, 1]], @producer.calls.map { |way, messages| [way, messages.size] }
    assert_equal ["mailers/1/0", nil, "mailers/1/1"], jobs.map(&:provider_job_id)
    assert(jobs.all?(&:successfully_enqueued?))
  end

  test "perform_all_later raises when some aren't stored, and each job knows its outcome" do
    @producer.undelivered = [1]
    @producer.accepted = 3
    asynchronous = Class.new(@job_class) { penstock_options enqueue: :async }
    jobs = Array.new(5) { |index| @job_class.new(index) } << asynchronous.new
    error = assert_raises(Penstock::ProduceManyError) { ActiveJob.perform_all_later(jobs) }

    assert_equal [true, false, true, false, false, true], jobs.map(&:successfully_enqueued?)
    assert_equal [nil, IOError, nil, error.class, error.class, nil], jobs.map { |job| job.enqueue_error&.class }
  end

  test "nothing is sent if one of the jobs can't be serialized, and each knows that it isn't enqueued" do
    jobs = [@job_class.new(1), @job_class.new("\xFF")]
    error = assert_raises(ActiveJob::SerializationError) { ActiveJob.perform_all_later(jobs) }
    assert_empty @producer.calls
    assert_equal [[false, error]] * 2, jobs.map { |job| [job.successfully_enqueued?, job.enqueue_error] }
  end

  test "perform_all_later names the job whose queue can't be a topic" do
    bad = Class.new(@job_class) do
      def self.name = "BadJob"
      queue_as "a queue"
    end
    @producer.error = Penstock::MessageInvalidError.new("message 1 of the list: no").tap { |error| error.index = 1 }
    error = assert_raises(Penstock::MessageInvalidError) { ActiveJob.perform_all_later([@job_class.new(1), bad.new(2)]) }
    assert_match(/\ABadJob can't be enqueued in the queue "a queue"/, error.message)
  end

  # As from `retry_on`, whose job has to go to another queue.
  test "a job whose arguments can't be read keeps its key in another queue" do
    @job_class.penstock_options partition_by: ->(job) { job.arguments.first.upcase }
    message = Struct.new(:topic, :partition, :raw_key).new("mailers", 0, "k")
    data = @job_class.new("k").serialize
    read = -> { @job_class.new.tap { |job| job.deserialize(data) } }
    job = read.call
    Penstock::ActiveJob::Running.within(nil, message, job.job_id) { job.enqueue(queue: "later") }
    assert_equal ["later", "k"], @producer.messages.last.values_at(:topic, :key)
    assert_raises(NoMethodError) { read.call.enqueue }
  end

  test "a job that has to wait goes to the scheduler with its time, one whose time has passed goes at once" do
    Penstock::ActiveJob::Later.scheduler = Scheduler.new
    at = Time.at(Time.now.to_i + 3_600, 123_456_7, :nsec)
    @job_class.set(wait_until: at).perform_later
    @job_class.set(wait_until: Time.now - 1).perform_later
    @job_class.set(wait: 0).perform_later
    ActiveJob.perform_all_later([@job_class.new.set(wait_until: at), @job_class.new])

    assert_equal %w[delays mailers mailers delays mailers], @producer.messages.map { |message| message[:topic] }
    assert_equal ["mailers", ((at.to_i * 1_000) + 2).to_s], @producer.messages.first[:headers].values_at("to", "due")
  end

  test "without a scheduler a job that has to wait is refused, and not sent" do
    error = assert_raises(NotImplementedError) { @job_class.set(wait: 60).perform_later }

    assert_match(/due later, and no application is defined/, error.message)
    assert_empty @producer.calls
  end

  test "[not offered] a priority is reported once per class, and has no effect" do
    text = StringIO.new
    app = Class.new(Penstock::App)
    app.setup do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      config.logger = Logger.new(text)
    end
    3.times { @job_class.set(priority: 5).perform_later }

    assert_equal 1, text.string.scan("NamedJob has the priority 5, which has no effect").size
    assert_equal 3, @producer.calls.size
  ensure
    Penstock.forget_app(app)
  end

  test "outside of a job, stopping? is about the process" do
    refute ActiveJob::QueueAdapters::PenstockAdapter.new.stopping?
  end
end
