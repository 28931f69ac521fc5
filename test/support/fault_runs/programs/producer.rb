# frozen_string_literal: true

# Produces records of a fault run until a line, or the end, of standard input stops it, and records for each what it
# intended and what became of it. Its plan comes in PENSTOCK_PLAN:
#
#   application, folder, kafka
#   topics            each: name, rate (a second), keys, kinds ({"poison" => 50}: a share of thousand), poison_at (numbers of
#                     records that are poison), partitions (nil: by key)
#   count             at most that many of each topic
#   bytes             of a payload
#   seed
#   defaults          true: with no settings except the brokers

require "json"
require "logger"
require "penstock"
require "penstock/producer"
require_relative "../journal"
require_relative "../record"

$stdout.sync = true

module FaultRunProducer
  PLAN = JSON.parse(ENV.fetch("PENSTOCK_PLAN"), symbolize_names: true)
  Journal = Penstock::TestSupport::FaultRuns::Journal
  JOURNAL = Journal.new(PLAN.fetch(:folder), PLAN.fetch(:application))
  Record = Penstock::TestSupport::FaultRuns::Record
  KAFKA = {"message.timeout.ms": 60_000}.freeze
  PRODUCER = Penstock::Producer.new do |config|
    config.kafka = {**(PLAN[:defaults] ? {} : KAFKA), **PLAN.fetch(:kafka)}
    config.logger = Logger.new($stdout, level: Logger::INFO)
    config.wait_timeout_on_queue_full = 60_000
  end
  %w[producer.reload producer.reloaded].each do |name|
    PRODUCER.monitor.subscribe(name) { |event| puts "#{Journal.now} #{name} #{event.payload.slice(:attempt, :error)}" }
  end
  PRODUCER.monitor.subscribe("error.occurred") do |event|
    puts "#{Journal.now} #{event[:type]}: #{event[:error].message}" if event[:type].end_with?("fatal_error", "librdkafka.error")
  end

  # Waits for the outcome of each record, in the order in which they were sent.
  class Outcomes
    def initialize
      @queue = Thread::SizedQueue.new(50_000)
      @thread = Thread.new { run }
    end

    def <<(delivery) = @queue << delivery

    def finish
      @queue << nil
      @thread.join
    end

    private

    def run
      while (uid, handle = @queue.pop)
        note(uid, handle.wait(timeout_ms: 180_000, raise_response_error: false))
      end
    end

    def note(uid, report)
      case report.outcome
      when :delivered then JOURNAL.write("ack", uid, report.partition, report.offset)
      when :failed then JOURNAL.write("fail_produce", uid, report.error&.code)
      else JOURNAL.write("unknown", uid, report.error&.code)
      end
    end
  end

  # Produces one topic's records at its rate.
  class Feed
    def initialize(topic, outcomes, random)
      @topic = topic
      @outcomes = outcomes
      @random = random
      @count = 0
      @sequences = Hash.new(0)
      @began = Journal.now
    end

    def done? = PLAN[:count] && @count >= PLAN[:count]

    def step
      due = ((Journal.now - @began) * @topic.fetch(:rate) / 1_000_000).to_i
      due = [due, PLAN[:count]].min if PLAN[:count]
      send_one while @count < due
    end

    private

    def send_one
      number = @count += 1
      key = "k#{@random.rand(@topic.fetch(:keys, 50))}"
      uid = "#{@topic.fetch(:name)}.#{PLAN.fetch(:application)}.#{number}"
      sequence = @sequences[key] += 1
      kind = @topic.fetch(:poison_at, []).include?(number) ? "poison" : kind_of(@random.rand(1_000))
      partition = @topic[:partitions] ? number % @topic[:partitions] : -1
      JOURNAL.write("intent", uid, @topic.fetch(:name), key, sequence, kind)
      message = Record.make(uid, key, sequence, kind: kind, bytes: PLAN.fetch(:bytes, 100))
      @outcomes << [uid, PRODUCER.produce_async(topic: @topic.fetch(:name), partition: partition, **message)]
    rescue Penstock::ProduceError, Penstock::MessageInvalidError => error
      JOURNAL.write("fail_produce", uid, error.class)
      note_refusal(error)
    end

    # In the log, once a minute for each text: a client that refuses everything would fill it.
    def note_refusal(error)
      @refused ||= {}
      return if @refused[error.message]&.>(Journal.now - 60_000_000)
      @refused[error.message] = Journal.now
      puts "#{Journal.now} refused: #{error.message} (#{error.cause.inspect})"
    end

    def kind_of(number)
      @topic.fetch(:kinds, {}).each do |kind, share|
        return kind.name if number < share
        number -= share
      end
      "ok"
    end
  end

  def self.run
    outcomes = Outcomes.new
    random = Random.new(PLAN.fetch(:seed, 1))
    feeds = PLAN.fetch(:topics).map { |topic| Feed.new(topic, outcomes, random) }
    until IO.select([$stdin], nil, nil, 0.02) || feeds.all?(&:done?)
      feeds.each(&:step)
    end
    outcomes.finish
    PRODUCER.close
    JOURNAL.write("stopped", 0)
  end
end

FaultRunProducer.run
