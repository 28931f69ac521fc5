# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/monitor"
require_relative "../producer"
require_relative "pool_slots"

module Penstock
  # Several producers of which each is one thread's at a time: for transactions side by side, of which a producer has one.
  #
  #     pool = Penstock::ProducerPool.new(size: 5) do |config, index|
  #       config.kafka = {"bootstrap.servers": "127.0.0.1:9092", "transactional.id": "shop-#{index}"}
  #     end
  #     pool.transaction { |producer| producer.produce_async(topic: "orders", payload: "…") }
  #     pool.shutdown
  #
  # Everything else needs no pool: a producer without transactions is for all threads. Each producer keeps its index, from 1,
  # and with it its transactional id, also behind a {#reload} and in the next process: so whatever the one before left open
  # is ended. Producers connect when they are used first. In a forked child the block is called again.
  #
  # Any thread may use it; it has none of its own. It ends with {#shutdown}.
  class ProducerPool
    # What is asked of the class elsewhere, where a process has a pool of its own accord.
    FORMER = %i[setup with transaction stats shutdown reload active? default_pool close].freeze
    private_constant :FORMER

    class << self
      private

      def method_missing(name, *)
        return super unless FORMER.include?(name)

        raise NoMethodError, "a process has no pool of its own accord, so there is no ProducerPool.#{name}: make one, as in " \
          "POOL = Penstock::ProducerPool.new(size: 5) { |config, index| … }, and ask that", caller
      end

      # What is only refused isn't there.
      def respond_to_missing?(name, all = false) = super
    end

    # @return [Integer]
    attr_reader :size
    # @return [Integer] ms a thread waits for a producer
    attr_reader :timeout
    # @return [Instrumentation::Monitor] where the events of the pool go, not those of its producers
    attr_reader :monitor

    # @param size [Integer] how many producers there are
    # @param timeout [Integer] ms a thread waits for one
    # @param monitor [Instrumentation::Monitor]
    # @yieldparam config [Producer::Settings]
    # @yieldparam index [Integer] from 1
    # @raise [ConfigurationError] of the first producer that can't be used, or when two have the same transactional id
    def initialize(size: 5, timeout: 5_000, monitor: Instrumentation::Monitor.new, &block)
      raise ArgumentError, "a pool needs a block that configures its producers: { |config, index| … }" unless block
      unless size.is_a?(Integer) && size.positive?
        raise ArgumentError,
          "size must be an Integer of at least 1, is #{size.inspect}"
      end

      @size = size
      @timeout = timeout
      @monitor = monitor
      @slots = Slots.new(size, tell: method(:tell_failure)) { |index| make(block, index) }
      refuse_twins
      monitor.instrument("connection_pool.created", pool: self, size: size, timeout: timeout)
    end

    # Lends a producer for the block. Inside of the block the same fiber gets the same one again.
    #
    # @yieldparam producer [Producer]
    # @return [Object] what the block returns
    # @raise [PoolTimeoutError] none was free within {#timeout}
    # @raise [ProducerClosedError] the pool is shut down
    def with
      slot = @slots.mine
      return yield(slot.producer) if slot

      slot = @slots.take(Deadline.in(timeout)) or raise PoolTimeoutError, "none of the pool's #{size} producers was free " \
        "within #{timeout} ms: make the pool larger, or its transactions shorter"
      begin
        yield slot.producer
      ensure
        @slots.give_back(slot)
      end
    end

    # A transaction of a producer that is nobody else's meanwhile.
    #
    # @yieldparam producer [Producer]
    # @yieldparam transaction [Producer::Transaction]
    # @return [Object, nil] as {Producer#transaction}
    # @raise [PoolTimeoutError] none was free within {#timeout}
    # @raise [ProducerNotTransactionalError, KafkaError, ProducerClosedError] see {Producer#transaction}
    def transaction
      with { |producer| producer.transaction { |transaction| yield producer, transaction } }
    end

    # @return [Integer] how many are free
    def available
      @slots.free
    end

    # @return [Hash{Symbol => Integer}] how many there are, are free, and are waited for
    def stats
      {size: size, available: available, waiting: @slots.waiting}
    end

    # Replaces all producers by new ones, for which the block is called again: each as soon as nobody has it, so that no
    # transactional id is used twice at a time.
    #
    # @param force [Boolean] true takes them away from who has them, whose calls raise then
    # @param timeout_ms [Integer] what all of it may take; later ones are replaced when they are given back
    # @return [void]
    # @raise [ProducerClosedError] the pool is shut down
    # @raise whatever the block raises for the first producer it can't configure: the others are replaced, that one stays
    def reload(force: false, timeout_ms: Producer::Delivery::WAIT_TIMEOUT_MS)
      monitor.instrument("connection_pool.reload", pool: self)
      @slots.renew(Deadline.in(force ? 0 : timeout_ms), force: force)
      monitor.instrument("connection_pool.reloaded", pool: self)
    end

    # Lends no producer any more and closes all: each as soon as nobody has it.
    #
    # @param force [Boolean] true takes them away from who has them, whose calls raise then
    # @param timeout_ms [Integer] what all of it may take; who has one then loses it
    # @return [void]
    def shutdown(force: false, timeout_ms: Producer::Delivery::WAIT_TIMEOUT_MS)
      closed = @slots.close(Deadline.in(force ? 0 : timeout_ms))
      monitor.instrument("connection_pool.shutdown", pool: self) if closed
    end
    alias_method :close, :shutdown

    # @return [Boolean]
    def closed?
      @slots.closed?
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{available} of #{size} free#{", closed" if closed?}>"
    end

    private

    def tell_failure(error)
      monitor.instrument("error.occurred", type: "connection_pool.reload.error", error: error, caller: self)
    end

    def make(block, index)
      Producer.new { |config| block.call(config, index) }
    end

    # The two would fence each other in turns.
    def refuse_twins
      ids = @slots.producers.filter_map { |producer| producer.config.kafka[:"transactional.id"] }
      twin = ids.tally.find { |_, count| count > 1 }&.first or return

      raise ConfigurationError, [Problem.new("config.kafka.transactional.id", "is #{twin.inspect} in several producers of the " \
        "pool, which would fence each other", "Make the block's second argument, the index, part of it")]
    end
  end
end
