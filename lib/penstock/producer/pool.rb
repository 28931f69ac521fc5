# frozen_string_literal: true

module Penstock; class ProducerPool; end; end # its parts open it, too: see ON_DEMAND
require_relative "../deadline"
require_relative "../errors"
require_relative "../on_demand"
require_relative "pool_slots"
Penstock.load_constant "Instrumentation::Monitor", :Producer

module Penstock
  # A pool of producers, each used by one thread at a time: for concurrent transactions, of which a producer can run only one.
  #
  #     pool = Penstock::ProducerPool.new(size: 5) do |config, index|
  #       config.kafka = {"bootstrap.servers": "127.0.0.1:9092", "transactional.id": "shop-#{index}"}
  #     end
  #     pool.transaction { |producer| producer.produce_async(topic: "orders", payload: "…") }
  #     pool.shutdown
  #
  # Other uses need no pool: any number of threads may share a producer without transactions. Each producer keeps its index,
  # from 1, and with it its transactional id, also after a {#reload} and in the next process: so its first transaction ends one
  # that its predecessor left open. Producers connect on first use. In a forked child the block is called again.
  #
  # Any thread may use it; it has no thread of its own. It ends with {#shutdown}.
  class ProducerPool
    # Class methods in Karafka's gem, where every process has a default pool.
    FORMER = %i[setup with transaction stats shutdown reload active? default_pool close].freeze
    private_constant :FORMER

    class << self
      # Raises as the other methods of a process-wide pool do; Active Support gives every object a `with`.
      # @raise [NoMethodError]
      # @api private
      def with(*) = method_missing(:with)

      private

      def method_missing(name, *)
        return super unless FORMER.include?(name)

        raise NoMethodError, "there is no ProducerPool.#{name}, because there is no default pool: create one, as in " \
          "POOL = Penstock::ProducerPool.new(size: 5) { |config, index| … }, and call it there", caller
      end

      # Methods that only raise don't count as existing.
      def respond_to_missing?(name, all = false) = super
    end

    # @return [Integer]
    attr_reader :size
    # @return [Integer] ms a thread waits for a producer
    attr_reader :timeout
    # @return [Instrumentation::Monitor] receives the pool's events, not those of its producers
    attr_reader :monitor

    # @param size [Integer] number of producers
    # @param timeout [Integer] ms a thread waits for a producer
    # @param monitor [Instrumentation::Monitor]
    # @yieldparam config [Producer::Settings]
    # @yieldparam index [Integer] from 1
    # @raise [ConfigurationError] of the first producer that can't be set up, or if two have the same transactional id
    def initialize(size: 5, timeout: 5_000, monitor: Instrumentation::Monitor.new, &block)
      raise ArgumentError, "a pool needs a block that configures its producers: { |config, index| … }" unless block
      unless size.is_a?(Integer) && size.positive?
        raise ArgumentError,
          "size must be an Integer of at least 1, is #{size.inspect}"
      end

      @size = size
      @timeout = timeout
      @monitor = monitor
      @slots = Slots.new(size, report: method(:report_failure)) { |index| make(block, index) }
      refuse_twins
      monitor.instrument("connection_pool.created", pool: self, size: size, timeout: timeout)
    end

    # Lends a producer for the block. Inside the block the same fiber gets the same one again.
    #
    # @yieldparam producer [Producer]
    # @return [Object] what the block returns
    # @raise [PoolTimeoutError] none was free within {#timeout}
    # @raise [ProducerClosedError] the pool was shut down
    def with
      slot = @slots.mine
      return yield(slot.producer) if slot

      begin
        @slots.take(Deadline.in(timeout)) { |taken| slot = taken } or raise PoolTimeoutError, "none of the pool's #{size} " \
          "producers was free within #{timeout} ms: make the pool larger, or its transactions shorter"
        yield slot.producer
      ensure
        @slots.give_back(slot) if slot
      end
    end

    # Runs a transaction on a producer that no other thread uses meanwhile.
    #
    # @yieldparam producer [Producer]
    # @yieldparam transaction [Producer::Transaction]
    # @return [Object, nil] see {Producer#transaction}
    # @raise [PoolTimeoutError] none was free within {#timeout}
    # @raise [ProducerNotTransactionalError, KafkaError, ProducerClosedError] see {Producer#transaction}
    def transaction
      with { |producer| producer.transaction { |transaction| yield producer, transaction } }
    end

    # @return [Integer] number of free producers
    def available
      @slots.free
    end

    # @return [Hash{Symbol => Integer}] numbers of producers, of free ones, and of waiting threads
    def stats
      {size: size, available: available, waiting: @slots.waiting}
    end

    # Replaces all producers by new ones, for which the block is called again: each as soon as it is free, so that no
    # transactional id is used twice at the same time.
    #
    # @param force [Boolean] true also replaces producers that are in use: calls of their users raise then
    # @param timeout_ms [Integer] time limit for all of them; producers in use after that are replaced when they are returned
    # @return [void]
    # @raise [ProducerClosedError] the pool was shut down
    # @raise the block's error for the first producer it can't configure: the others are replaced, that one stays
    def reload(force: false, timeout_ms: Producer::Delivery::WAIT_TIMEOUT_MS)
      monitor.instrument("connection_pool.reload", pool: self)
      @slots.renew(Deadline.in(force ? 0 : timeout_ms), force: force)
      monitor.instrument("connection_pool.reloaded", pool: self)
    end

    # Lends no more producers and closes all: each as soon as it is free.
    #
    # @param force [Boolean] true also closes producers that are in use: calls of their users raise then
    # @param timeout_ms [Integer] time limit for all of them; producers still in use are closed then
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

    def report_failure(error)
      monitor.instrument("error.occurred", type: "connection_pool.reload.error", error: error, caller: self)
    end

    def make(block, index)
      Producer.new { |config| block.call(config, index) }
    end

    # The two would keep fencing each other.
    def refuse_twins
      ids = @slots.producers.filter_map { |producer| producer.config.kafka[:"transactional.id"] }
      twin = ids.tally.find { |_, count| count > 1 }&.first or return

      raise ConfigurationError, [Problem.new("config.kafka.transactional.id", "is #{twin.inspect} for several producers of the " \
        "pool, which would fence each other", "Make the block's second argument, the index, part of it")]
    end
  end
end
