# frozen_string_literal: true

# A member of a fault run: an application that consumes and records what it does. Its plan comes in PENSTOCK_PLAN:
#
#   application, member    names; group, topic, kafka
#   folder                 of journals
#   mode                   whole | key | message
#   offsets                automatic | marks (each record is marked) | manual (nothing else completes it)
#   work                   copy: to the topic `out`, in transactions; pipe: every third fails, the others are forwarded to
#                          `out` unchanged; gather: over several calls; else each record by itself
#   pattern                of topics, instead of one
#   breaker_limit          ms for which an open breaker holds at most
#   dead, max_retries      dead letters; retries (ms of each tier)
#   run_on                 threads | fibers | processes
#   nodes                  a swarm with that many; 0: one server
#   work_ms, concurrency, max_messages, shutdown_timeout, settings (more of config), route (more of the route)

require "json"
require "logger"
require "penstock"
require_relative "../journal"
require_relative "../listening"
require_relative "../record"

$stdout.sync = true # lines of a process that crashes count most

module FaultRun
  PLAN = JSON.parse(ENV.fetch("PENSTOCK_PLAN"), symbolize_names: true)
  JOURNAL = Penstock::TestSupport::FaultRuns::Journal.new(PLAN.fetch(:folder), PLAN.fetch(:application), PLAN[:member])
  Record = Penstock::TestSupport::FaultRuns::Record

  def self.write(...) = JOURNAL.write(...)

  @runs = 0
  @lock = Mutex.new

  # @return [Integer] a number for a run of a record, in this process
  def self.next_run = @lock.synchronize { @runs += 1 }

  # The result of deserializing a payload, and the header that came with it.
  Parsed = Struct.new(:record, :header)

  # As users write them: the record's headers influence the result, too.
  class Deserializer
    def call(message)
      record = Record.parse(message.raw_payload)
      raise ArgumentError, "not a record: #{message.raw_payload.to_s[0, 40].inspect}" unless record
      Parsed.new(record, message.headers["uid"])
    end
  end

  # In a new process `attempt` alone doesn't show how often a record was tried.
  class Failure < StandardError; end

  # The methods that consumers of every kind of work share.
  module Working
    def self.included(base)
      return if FaultRun::PLAN[:run_on] == "processes"
      base.define_method(:shutdown) { FaultRun.write("shutdown", topic.name, partition) }
    end

    # A call may have waited for long when its first record begins.
    def wrap(action)
      FaultRun.write("call", topic.name, partition, *bounds) if action == :consume
      yield
    end

    private

    def run(message)
      number = FaultRun.next_run
      FaultRun.write("begin", number, message.topic, message.partition, message.offset, attempt, message.key,
        message.headers["key"], message.headers["uid"], *parsed(message), thread_name, id, *bounds)
      act(message)
      FaultRun.write("end", number)
      number
    rescue Exception => error # rubocop:disable Lint/RescueException -- written down, and raised again
      FaultRun.write("fail", number, error.class, error.message[0, 80])
      raise
    end

    # The deserializer's result: uid, its sequence, and the header it saw.
    def parsed(message)
      payload = message.payload
      [payload.record.uid, payload.record.sequence, payload.header]
    end

    # In hooks there are no messages.
    def bounds = messages.empty? ? [nil, nil] : [messages.first_offset, messages.last_offset]

    def thread_name = "#{Thread.current.name}/#{Fiber.current.object_id if PLAN[:run_on] == "fibers"}"

    def act(message)
      sleep(PLAN.fetch(:work_ms, 0) / 1_000.0) if PLAN.fetch(:work_ms, 0).positive?
      what, number = message.payload.record.kind.split(":")
      case what
      when "poison" then raise Failure, "poison" if PLAN[:failing]
      when "flaky" then raise Failure, "flaky" if PLAN[:failing] && tries <= Integer(number)
      when "slow" then sleep(Integer(number) / 1_000.0)
      when "kill" then ::Process.kill(:KILL, ::Process.pid) && sleep if PLAN[:failing]
      end
    end

    # Attempts begin again in each retry topic.
    def tries = topic.name[/retry[._-](\d+)\z/, 1].to_i + attempt

    def mark(message)
      answer = mark_as_consumed(message)
      FaultRun.write("mark", message.topic, message.partition, message.offset, answer)
      answer
    end
  end

  # Runs records one after another, and marks each where the plan requires it.
  class Consumer < Penstock::BaseConsumer
    include Working

    def consume
      messages.each do |message|
        run(message)
        break if PLAN[:offsets] != "automatic" && !mark(message)
      end
    end
  end

  # Gathers records over calls, and marks the last of those that are completed together.
  class Gatherer < Penstock::BaseConsumer
    include Working

    def initialized
      @gathered = []
    end

    def consume
      @gathered.concat(messages.to_a)
      done(@gathered.shift(10)) while @gathered.size >= 10
    end

    def revoked = done(@gathered)

    def shutdown = done(@gathered)

    private

    def done(batch)
      return if batch.empty?
      batch.each { |message| run(message) }
      mark(batch.last)
      batch.clear
    end
  end

  # Copies records; a mark takes effect together with the copies.
  class Copier < Penstock::BaseConsumer
    include Working

    def consume
      copied = transaction do
        messages.each do |message|
          run(message)
          produce_async(topic: PLAN.fetch(:out), partition: message.partition, key: message.raw_key, payload: message.raw_payload,
            headers: {"uid" => message.headers["uid"], "from" => "#{message.partition}/#{message.offset}"})
          mark(message)
        end
        true
      end
      FaultRun.write("copied", topic.name, partition, messages.first_offset, messages.last_offset, copied)
    end
  end

  # Forwards records unchanged.
  class Piper < Penstock::BaseConsumer
    def consume
      messages.each do |message|
        raise Failure, "a third" if (message.offset % 3).zero?

        produce_sync(**{topic: PLAN.fetch(:out), payload: message.raw_payload, key: message.raw_key, headers: message.raw_headers}
          .reject { |name, value| name == :key && value.nil? })
      end
    end
  end

  CONSUMERS = {nil => Consumer, "gather" => Gatherer, "copy" => Copier, "pipe" => Piper}.freeze

  # The route's options.
  def self.draw(route)
    route.consumer CONSUMERS.fetch(PLAN[:work])
    route.deserializer Deserializer.new unless PLAN[:raw]
    route.pause timeout: 100, max_timeout: 1_000
    route.parallel by: PLAN[:mode].to_sym unless PLAN[:mode] == "whole"
    route.manual_offset_management true if PLAN[:offsets] == "manual"
    route.run_on PLAN[:run_on].to_sym, max: PLAN.fetch(:run_on_max, 2) if PLAN[:run_on]
    route.retry_topics(delays: PLAN[:retries], finally: PLAN[:dead]) if PLAN[:retries]
    route.breaker(limit: PLAN[:breaker_limit]) if PLAN[:breaker_limit]
    route.dead_letter_queue(topic: PLAN[:dead], max_retries: PLAN.fetch(:max_retries, 2)) if PLAN[:dead] && !PLAN[:retries]
    PLAN.fetch(:route, {}).each do |name, value|
      value.is_a?(Hash) ? route.public_send(name, **value) : route.public_send(name, value)
    end
  end

  class App < Penstock::App
    setup do |config|
      Penstock::TestSupport::FaultRuns::Listening.configure(config, PLAN)
      config.max_messages = PLAN.fetch(:max_messages, 50)
      config.swarm.nodes = PLAN[:nodes] if PLAN[:nodes].to_i.positive?
      PLAN.fetch(:settings, {}).each { |name, value| config.public_send(:"#{name}=", value) }
      PLAN.fetch(:swarm, {}).each { |name, value| config.swarm.public_send(:"#{name}=", value) }
    end

    routes.draw do
      if PLAN[:pattern]
        pattern(:fitting, Regexp.new(PLAN[:pattern])) { FaultRun.draw(self) }
      else
        topic(PLAN.fetch(:topic)) { FaultRun.draw(self) }
      end
    end
  end
end

Penstock::TestSupport::FaultRuns::Listening.install(FaultRun::App.monitor, FaultRun::JOURNAL, FaultRun::App.logger)
FaultRun.write("started", FaultRun::App.respond_to?(:node) ? FaultRun::App.node : nil)
code = FaultRun::PLAN[:nodes].to_i.positive? ? FaultRun::App.swarm! : FaultRun::App.run!
FaultRun.write("stopped", code)
exit code
