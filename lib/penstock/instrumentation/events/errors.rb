# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # The event for all errors.
      module Errors
        TITLE = "Errors"

        CONTEXT = %i[topic partition offset first_offset last_offset seek_offset attempt attempts next retry_in_ms job
          jobs subscription_group subscription_group_id consumer_group_id group_id client producer_id message messages
          dispatched delivery_report label listener inside failures retry offsets hook repeated thread to omitted].freeze

        # Every value of `type` with its meaning. Listeners must expect others too.
        TYPES = {
          "consumer.initialized.error" => "the hook `initialized` raised; it isn't called again",
          "consumer.consume.error" => "`consume`, or middleware around it, raised; `next` is what follows",
          "consumer.critical.error" => "`consume` raised an error that stops the process; the next owner runs its records",
          "consumer.revoked.error" => "the hook `revoked` raised",
          "consumer.eofed.error" => "the hook `eofed` raised",
          "consumer.shutdown.error" => "the hook `shutdown` raised",
          "consumer.tick.error" => "the hook `tick` raised; it is called again when it is due",
          "filtering.error" => "a filter raised; the same messages are filtered again after a back-off",
          "virtual_partitions.partitioner.error" => "`by:` or `reducer:` of `parallel` raised, and is called again for the " \
            "same messages after a back-off; or it returned two keys for one message, and the first one counts",
          "parallel_segments.partitioner.error" => "a partitioner raised; the message belongs to the first segment",
          "parallel_segments.reducer.error" => "a reducer raised; the message belongs to the first segment",
          "consumer.error_callback.error" => "a strategy, a block of `backoff_for`, or `enhance_dlq_message` raised, or a dead " \
            "letter can't be sent; the record is tried again",
          "dead_letter_queue.dispatch.error" => "a dead letter was not acknowledged; it is sent again without " \
            "running its record again",
          "dead_letter_queue.oversized.error" => "a dead letter is larger than its topic or its producer accepts: it is sent " \
            "without the parts in `omitted`, which only its source still has, or to the dead letters instead of a retry topic",
          "worker.process.error" => "a worker failed outside of user code, couldn't be started, or recorded more events than " \
            "are published",
          "connection.listener.fetch_loop.error" => "a poll loop failed; its connection is re-opened",
          "connection.client.poll.error" => "a client reported an error while it polled",
          "connection.client.rebalance_callback.error" => "the answer to a rebalance was refused",
          "lag_compensation.refresher.error" => "the end of paused or busy partitions couldn't be read: their " \
            "lag is out of date",
          "offsets.commit.error" => "offsets were not committed",
          "runner.call.error" => "the application has ended because of a defect, or a command to it failed",
          "swarm.supervisor.error" => "the supervisor of a swarm failed; its nodes stop with it",
          "app.critical.error" => "an error that concerns the whole process; it stops cleanly",
          "app.stopping.error" => "the process could not stop in time and is ended by force",
          "librdkafka.error" => "a client reported an error; many resolve themselves",
          "librdkafka.idempotent_fatal_error" => "the client of an idempotent producer had a fatal error and is replaced",
          "librdkafka.dispatch_error" => "a message was not delivered, and the client doesn't send it again",
          "message.produce_sync" => "a message could not be delivered while its caller waited",
          "message.produce_async" => "a message could not be handed to the client",
          "messages.produce_many_sync" => "messages could not be delivered while their caller waited",
          "messages.produce_many_async" => "messages could not be handed to the client",
          "transaction.init" => "a transactional producer could not be initialized: nothing can be sent yet",
          "transaction.begin" => "a transaction could not begin",
          "transaction.commit" => "a transaction was not committed; `retry` is true if the commit is retried",
          "transaction.abort" => "a transaction was not aborted; `retry` is true if the abort is retried",
          "transaction.store_offset" => "the group's coordinator did not accept an offset into a transaction",
          "producer.middleware.error" => "a step of a producer's middleware raised; its message is not sent",
          "producer.reporter.error" => "a listener has ended the thread that calls a producer's listeners, and another thread " \
            "has taken over; or too many errors waited for that thread, and the oldest were dropped",
          "producer.undelivered.error" => "the object in `config.undelivered` raised",
          "producer.disconnect.error" => "an idle producer could not be disconnected",
          "producer.closed.error" => "the application's producer was closed by code of the application while it consumes; " \
            "another one replaces it",
          "connection_pool.reload.error" => "a producer of a pool could not be replaced when it was returned: the old one " \
            "stays in use",
          "outbox.relay.error" => "a relay of the outbox can't reach the database or the cluster and keeps trying; an " \
            "invalid configuration ends it, and so does an error that is no StandardError",
          "callbacks.statistics.error" => "statistics could not be read",
          "callbacks.oauthbearer_token_refresh.error" => "the listener for OAuth tokens raised",
          "flight_recorder.dump.error" => "the flight recorder's entries could not be written to a file",
          "instrumentation.listener.error" => "a listener raised; the others were called anyway"
        }.freeze

        class << self
          def declare(catalogue)
            catalogue.event("error.occurred", "Something failed. `type` is the kind of error, the other keys name the " \
              "place.", :type,
              :error, optional: CONTEXT)
          end
        end
      end
    end
  end
end
