# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of producers and their messages.
      module Producer
        TITLE = "Producer"

        class << self
          def declare(catalogue)
            life(catalogue)
            produced(catalogue)
            delivered(catalogue)
            buffer(catalogue)
            transactions(catalogue)
            pool(catalogue)
          end

          private

          def life(catalogue)
            catalogue.event("producer.connected", "A producer opened its client.", :producer_id)
            catalogue.event("producer.closing", "A producer starts to close.", :producer_id)
            catalogue.event("producer.closed", "A producer is closed.", :producer_id, timed: true)
            catalogue.event("producer.disconnecting", "An idle producer is about to close its client. A call that comes " \
              "before that keeps it.", :producer_id)
            catalogue.event("producer.disconnected", "An idle producer has closed its client; its next call opens another one.",
              :producer_id, timed: true)
            catalogue.event("producer.undelivered", "A producer was closed before all messages were delivered. `messages` are " \
              "the ones that are still known, as Hashes with `error` and `outcome`.", :producer_id, :count, :failed, :unknown,
              :messages)
            catalogue.event("producer.queue_full", "The queue of a producer is full; it waits for deliveries.",
              :producer_id, optional: %i[message attempt])
            catalogue.event("producer.reload", "The client of a producer is about to be replaced: a fatal error has ended it, " \
              "or offsets of a transaction had no answer. Changes to `kafka` apply to the new one.",
              :producer_id, :error, :attempt, :kafka)
            catalogue.event("producer.reloaded", "The client of a producer is closed; its next call opens a new one.",
              :producer_id, :attempt)
          end

          def produced(catalogue)
            catalogue.event("message.produced_sync", "A message was delivered while its caller waited.", :producer_id,
              :message, timed: true)
            catalogue.event("message.produced_async", "A message was handed to the client.", :producer_id, :message,
              timed: true)
            catalogue.event("messages.produced_sync", "Messages were delivered while their caller waited.", :producer_id,
              :messages, timed: true)
            catalogue.event("messages.produced_async", "Messages were handed to the client.", :producer_id, :messages,
              timed: true)
          end

          def delivered(catalogue)
            report = %i[producer_id topic partition offset delivery_report label]
            catalogue.event("message.acknowledged", "Kafka has stored a message.", *report)
            catalogue.event("message.purged", "A message was discarded before it was sent.", *report, :error,
              optional: %i[type])
          end

          def buffer(catalogue)
            catalogue.event("message.buffered", "A message was put into the producer's buffer.", :producer_id, :message,
              :buffer)
            catalogue.event("messages.buffered", "Messages were put into the producer's buffer.", :producer_id, :messages,
              :buffer)
            catalogue.event("buffer.flushed_sync", "The buffer was delivered while its caller waited.", :producer_id,
              :messages, timed: true)
            catalogue.event("buffer.flushed_async", "The buffer was handed to the client.", :producer_id, :messages,
              timed: true)
            catalogue.event("buffer.purged", "The buffer was discarded.", :producer_id, optional: %i[messages])
          end

          def pool(catalogue)
            catalogue.event("connection_pool.created", "A pool of producers was created.", :pool, :size, :timeout)
            catalogue.event("connection_pool.shutdown", "A pool of producers is closed, with its producers.", :pool)
            catalogue.event("connection_pool.reload", "The producers of a pool are about to be replaced.", :pool)
            catalogue.event("connection_pool.reloaded", "The producers of a pool were replaced.", :pool)
          end

          def transactions(catalogue)
            catalogue.event("transaction.started", "A transaction has begun.", :producer_id)
            catalogue.event("transaction.committed", "A transaction is committed.", :producer_id)
            catalogue.event("transaction.aborted", "A transaction is aborted: none of its messages becomes " \
              "visible.", :producer_id)
            catalogue.event("transaction.finished", "A transaction has ended, committed or not.", :producer_id,
              timed: true)
            catalogue.event("transaction.marked_as_consumed", "The offset of a record became part of a transaction.",
              :producer_id, :message, optional: %i[offset_metadata])
          end
        end
      end
    end
  end
end
