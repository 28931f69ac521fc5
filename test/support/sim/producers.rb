# frozen_string_literal: true

require "penstock/instrumentation/monitor"
require "penstock/producer"
require "penstock/producer/settings"
require "penstock/producer/transactions"
require_relative "transactional_client"

module Penstock
  module TestSupport
    module Sim
      # The transactional producers of a simulated process: the real transactions on a simulated client. A pool, as
      # users' code has one: each transaction has a producer for itself.
      class Producers
        # One producer, as far as consumers need one.
        class Producer
          WAIT_MS = 700
          private_constant :WAIT_MS

          attr_reader :id

          # @param id [String] the same in the process's next life
          def initialize(world, id, instance)
            @world = world
            @id = id
            @instance = instance
            open
            settings = settings_of(id)
            port = Penstock::Producer::Transactions::Port.new(client: -> { @client }, reload: ->(*) { open && nil }, sender: self)
            commands = Penstock::Producer::TransactionCommands.new(settings, clock: world.clock, pause: method(:nap))
            @transactions = Penstock::Producer::Transactions.new(settings, port, commands: commands, clock: world.clock)
          end

          def transaction(&) = @transactions.run(&)
          def produce(record) = @client.produce(record)
          def send_offsets(rows, group) = @transactions.send_offsets(rows, group)
          def settle_transaction(transaction) = @transactions.settle(transaction)
          def lost? = !@client.fatal_error.nil?
          def inspect = "#<Producer #{@id}>"

          private

          def open = @client = TransactionalClient.new(@world, @id, @instance)

          def nap(delay_ms) = @world.running.sleep_until(@world.timeline.now + delay_ms)

          def settings_of(id)
            Penstock::Producer::Settings.new.tap do |config|
              config.id = id
              config.kafka = {"bootstrap.servers": "sim:9092", "transactional.id": id, "message.timeout.ms": 500,
                              "transaction.timeout.ms": 1_000}
              config.max_wait_timeout = WAIT_MS
              config.max_attempts_on_transaction_command = 1
              config.wait_backoff_on_transaction_fatal_error = 50
              config.wait_timeout_on_transaction_abort = 300
              config.logger = Logger.new(nil)
              config.monitor = Instance::MONITOR
              config.finish!
            end
          end
        end

        # @param instance [Instance]
        def initialize(instance)
          @instance = instance
          @free = []
          @made = 0
        end

        # @yieldparam producer [Producer]
        def with
          producer = @free.pop || Producer.new(@instance.world, "p#{@instance.slot}-#{@made += 1}", @instance)
          yield producer
        ensure
          @free.push(producer) unless producer.nil? || producer.lost?
        end

        def inspect = "#<Producers>"
      end
    end
  end
end
