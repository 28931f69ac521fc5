# frozen_string_literal: true

require "test_helper"
require "json"
require "logger"
require "active_support"
require "active_support/time"
require "active_job"
require "active_job/test_helper"
require "penstock"
require "penstock/active_job"

# The promises of the Rails guide "Active Job Basics", with Penstock's adapter. The gem of Active Job ships no adapter tests.
class ActiveJobGuideTest < Penstock::TestCase
  # Keeps messages; performs them when it is asked to.
  class Producer
    Report = Struct.new(:topic, :partition, :offset, :error) do
      def delivered? = error.nil?
    end
    Handle = Struct.new(:create_result) do
      def error = create_result.error
      def uid = ("#{create_result.topic}/#{create_result.partition}/#{create_result.offset}" unless error)
    end

    attr_reader :messages

    def initialize
      @messages = []
    end

    def produce_sync(message) = Report.new(message[:topic], 0, (@messages << message).size - 1)
    def produce_many_sync(messages) = messages.map { |message| Handle.new(produce_sync(message)) }

    # As a server does, until nothing is left.
    def perform_all
      ::ActiveJob::Base.execute(JSON.parse(@messages.shift.fetch(:payload))) until @messages.empty?
    end
  end

  # Delays nothing, and keeps the time.
  class Scheduler
    def call(message, due_ms) = message.merge(headers: {"due" => due_ms.to_s})
    def draw(_level) = nil
  end

  # Found by its id.
  Person = Struct.new(:id) do
    include GlobalID::Identification

    def self.find(id) = (id == "gone") ? raise(KeyError, id) : new(id)
  end

  # Serialized by a serializer of the application.
  Money = Struct.new(:cents)

  class MoneySerializer < ActiveJob::Serializers::ObjectSerializer
    def serialize(money) = super("cents" => money.cents)
    def deserialize(hash) = Money.new(hash["cents"])
    def klass = Money
  end

  class Base < ActiveJob::Base
    class << self
      def ran = @@ran ||= []
    end

    def ran = Base.ran
  end

  class NoteJob < Base
    queue_as :mailers
    def perform(*arguments, **options) = ran << (options.empty? ? arguments : [*arguments, options])
  end

  class QueueOfArgumentsJob < Base
    queue_as { arguments.first ? :urgent : :default }
    def perform(_urgent) = nil
  end

  class CallbacksJob < Base
    %i[enqueue perform].each do |what|
      send(:"before_#{what}") { |job| job.ran << :"before_#{what}" }
      send(:"around_#{what}") do |job, block|
        job.ran << :"around_#{what}"
        block.call
      end
      send(:"after_#{what}") { |job| job.ran << :"after_#{what}" }
    end

    def perform = ran << :perform
  end

  class RefusedJob < Base
    before_enqueue { throw :abort }
    def perform = nil
  end

  class RetriedJob < Base
    retry_on(IOError, wait: 0, jitter: 0, attempts: 3) { |job, error| job.ran << [:gave_up, error.message, job.executions] }
    retry_on EncodingError, wait: ->(executions) { executions * 10 }, jitter: 0, queue: :slow
    discard_on ActiveJob::DeserializationError
    discard_on(KeyError) { |job, error| job.ran << [:discarded, error.message] }
    after_discard { |job, _error| job.ran << :after_discard }

    def perform(error)
      ran << [:tried, executions]
      raise error.constantize, "no"
    end
  end

  class PlaceJob < Base
    def perform = ran << [I18n.locale, Time.zone&.name]
  end

  def setup
    super
    GlobalID.app = "penstock"
    ActiveJob::Serializers.add_serializers(MoneySerializer)
    @logger, ActiveJob::Base.logger = ActiveJob::Base.logger, Logger.new(nil)
    @producer = producer = Producer.new
    Base.queue_adapter = ActiveJob::QueueAdapters::PenstockAdapter.new(producer: -> { producer })
    Penstock::ActiveJob::Later.scheduler = Scheduler.new
    ran.clear
  end

  def teardown
    Penstock::ActiveJob::Later.scheduler = nil
    ActiveJob::Base.logger = @logger
    super
  end

  def ran = Base.ran
  def topics = @producer.messages.map { |message| message[:topic] }
  def dues = @producer.messages.map { |message| message.dig(:headers, "due")&.to_i }

  test "[Active Job guide] arguments of all supported types arrive as they were, also records and own types" do
    list = [nil, 1, 2.5, true, "ä", :symbol, 1..3, Date.new(2026, 1, 2), Time.utc(2026, 1, 2, 3, 4, 5), 3.days, BigDecimal("1.5"),
      {"a" => [{b: :c}]}.with_indifferent_access, Person.new("7"), Money.new(150), String]
    NoteJob.perform_later(*list, key: :word)
    @producer.perform_all

    assert_equal [[*list, {key: :word}]], ran
  end

  test "the queue is the class's, a block's, or that of set; its name has Rails' prefix and delimiter" do
    NoteJob.perform_later
    QueueOfArgumentsJob.perform_later(true)
    QueueOfArgumentsJob.perform_later(false)
    NoteJob.set(queue: :other).perform_later
    prefixed = Class.new(NoteJob) { def self.name = "PrefixedJob" }
    prefixed.queue_name_prefix, prefixed.queue_name_delimiter = "app", "-"
    prefixed.queue_as :low
    prefixed.perform_later

    assert_equal %w[mailers urgent default other app-low], topics
  end

  test "wait and wait_until give the time at which the job is due, also in perform_all_later" do
    now = (Time.now.to_f * 1_000).floor
    NoteJob.set(wait: 1.week).perform_later
    NoteJob.set(wait_until: Time.at(4_000_000_000)).perform_later
    ActiveJob.perform_all_later([NoteJob.new.set(wait: 1.hour), NoteJob.new])

    assert_in_delta now + 604_800_000, dues[0], 60_000
    assert_equal 4_000_000_000_000, dues[1]
    assert_in_delta now + 3_600_000, dues[2], 60_000
    assert_nil dues[3]
  end

  test "callbacks run around enqueueing and performing; one that aborts sends nothing, and perform_later returns false" do
    CallbacksJob.perform_later
    @producer.perform_all

    assert_equal %i[before_enqueue around_enqueue after_enqueue before_perform around_perform perform after_perform], ran
    assert_equal false, RefusedJob.perform_later
    assert_empty @producer.messages
  end

  test "perform_later yields the job, which knows that it was enqueued and as which record" do
    yielded = nil
    job = NoteJob.perform_later { |enqueued| yielded = enqueued }

    assert_same job, yielded
    assert_equal [true, nil, "mailers/0/0"], [job.successfully_enqueued?, job.enqueue_error, job.provider_job_id]
  end

  test "retry_on tries again that often and then calls its block; the wait and the queue of a retry are those it names" do
    RetriedJob.perform_later("IOError")
    @producer.perform_all

    assert_equal [[:tried, 1], [:tried, 2], [:tried, 3], [:gave_up, "no", 3], :after_discard], ran
    now = (Time.now.to_f * 1_000).floor
    ActiveJob::Base.execute(RetriedJob.new("EncodingError").serialize)
    assert_equal ["slow"], topics
    assert_in_delta now + 10_000, dues.first, 9_000
  end

  test "discard_on ends a job, also one whose record is gone; an error without a handler is raised" do
    RetriedJob.perform_later("KeyError")
    RetriedJob.perform_later(Person.new("gone"))
    @producer.perform_all

    assert_equal [[:tried, 1], [:discarded, "no"], :after_discard, :after_discard], ran
    RetriedJob.perform_later("ArgumentError")
    assert_raises(ArgumentError) { @producer.perform_all }
  end

  test "jobs run in the language and time zone in which they were enqueued" do
    I18n.available_locales = %i[en eo]
    I18n.with_locale(:eo) { Time.use_zone("Hawaii") { PlaceJob.perform_later } }
    @producer.perform_all

    assert_equal [[:eo, "Hawaii"]], ran
  ensure
    I18n.available_locales = nil
  end

  test "perform_now performs at once and enqueues nothing" do
    NoteJob.perform_now(1)

    assert_equal [[[1]], []], [ran, @producer.messages]
  end

  # Stands for the test case of an application.
  class Asserting
    include Minitest::Assertions

    attr_accessor :assertions

    def before_setup = nil
    def after_teardown = nil
  end

  class HelpedCase < Asserting
    include ActiveJob::TestHelper

    def call
      self.assertions = 0
      before_setup
      assert_enqueued_with(job: NoteJob, args: [1], queue: "mailers") { NoteJob.perform_later(1) }
      assert_performed_jobs(1) { NoteJob.perform_later(2) }
    ensure
      after_teardown
    end
  end

  test "ActiveJob::TestHelper takes the adapter's place in the tests of an application, and gives it back" do
    HelpedCase.new.call

    assert_equal [[[2]], []], [ran, @producer.messages]
    NoteJob.perform_later(3)
    assert_equal ["mailers"], topics
  end
end
