# frozen_string_literal: true

require_relative "../probe"
require "penstock"
require "penstock/native/consumer"
require "penstock/messages/messages"

# The driver alone: batches are taken on the calling thread. No units, no ledger, no worker, no commits.
class RawBatches
  PROPERTIES = {
    "bootstrap.servers" => Probe["bootstrap"], "group.id" => Probe["group"], "auto.offset.reset" => "earliest",
    "enable.auto.commit" => "false", "enable.auto.offset.store" => "false", "fetch.queue.backoff.ms" => "20",
    "queued.min.messages" => "10000"
  }.freeze

  # @param topics [Array<String>]
  # @param limit [Integer] most records of a batch
  def initialize(topics, limit)
    @consumer = Penstock::Native::Consumer.new(PROPERTIES)
    @consumer.subscribe(topics)
    @limit = limit
    @lanes = {}
    @ready = []
  end

  # Yields batches without end.
  def each(&block)
    loop do
      @consumer.wait(@ready.empty? ? 100 : 0)
      while (event = @consumer.poll_event)
        rebalance(*event)
      end
      @ready |= @consumer.ready_lanes
      wanted = @ready.filter_map { |id| @lanes[id] }
      @ready = []
      take(wanted, &block) unless wanted.empty?
    end
  end

  private

  def rebalance(kind, partitions, *)
    partitions.each { |topic, partition| (lane = @consumer.lane(topic, partition)) && @lanes[lane.id] = lane } if kind == :assign
    @consumer.answer if %i[assign revoke].include?(kind)
  end

  def take(wanted)
    batches = @consumer.take(wanted.flat_map { |lane| [lane, @limit, 1 << 20] })
    batches.zip(wanted) do |batch, lane|
      next unless batch
      @ready << lane.id if batch.full?
      yield batch
    end
  end
end
