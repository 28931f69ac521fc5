# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # The one event for everything that went wrong.
      module Errors
        TITLE = "Errors"

        CONTEXT = %i[topic partition offset first_offset last_offset seek_offset attempt job jobs subscription_group
          subscription_group_id consumer_group_id client producer_id message messages dispatched delivery_report label
          listener inside failures retry offsets hook repeated thread to omitted].freeze

        # Every value of `type`, with what it means. Listeners must expect others too.
        TYPES = {
          "consumer.initialized.error" => "the hook `initialized` raised; it isn't called again",
          "consumer.consume.error" => "`consume`, or what is around it, raised; the records are tried again",
          "consumer.critical.error" => "`consume` raised an error that stops the process; its records are the next owner's",
          "consumer.revoked.error" => "the hook `revoked` raised",
          "consumer.eofed.error" => "the hook `eofed` raised",
          "consumer.shutdown.error" => "the hook `shutdown` raised",
          "consumer.tick.error" => "the hook `tick` raised; it is called again when it is due",
          "filtering.error" => "a filter raised; the same messages are filtered again behind a back-off",
          "virtual_partitions.partitioner.error" => "a partitioner or reducer raised (the same messages are asked for again " \
            "behind a back-off), or answered two keys for one message",
          "parallel_segments.partitioner.error" => "a partitioner raised; the message is the first segment's",
          "parallel_segments.reducer.error" => "a reducer raised; the message is the first segment's",
          "consumer.advice.error" => "a strategy, a block of `backoff_for`, or `enhance_dlq_message` raised, or a dead letter " \
            "can't be sent as it is; the record is tried again",
          "dead_letter_queue.dispatch.error" => "a dead letter was not acknowledged; it is sent again without its " \
            "record being run again",
          "dead_letter_queue.oversized.error" => "a dead letter is larger than its topic or its producer takes: it goes " \
            "without what `omitted` names, which only its source still has, or from its way to a retry topic to the dead letters",
          "worker.process.error" => "a worker failed outside of user code",
          "connection.listener.fetch_loop.error" => "a poll loop failed; its connection is opened anew",
          "connection.client.poll.error" => "a client reported an error while it polled",
          "connection.client.rebalance_callback.error" => "the answer to a rebalance was refused",
          "lag_compensation.refresher.error" => "the end of partitions that are paused or busy couldn't be asked for: their " \
            "lag stands still",
          "offsets.commit.error" => "offsets were not committed",
          "runner.call.error" => "the application has ended by a defect, or an order to it failed",
          "swarm.supervisor.error" => "the supervisor of a swarm failed; its nodes stop with it",
          "app.critical.error" => "an error that concerns the whole process; it stops in order",
          "app.stopping.error" => "the process could not stop in time and ends by force",
          "librdkafka.error" => "a client reported an error; many pass by themselves",
          "librdkafka.idempotent_fatal_error" => "the client of an idempotent producer is lost and is replaced",
          "librdkafka.dispatch_error" => "a message was not delivered, for good",
          "message.produce_sync" => "a message could not be delivered while its caller waited",
          "message.produce_async" => "a message could not be handed to the client",
          "messages.produce_many_sync" => "messages could not be delivered while their caller waited",
          "messages.produce_many_async" => "messages could not be handed to the client",
          "transaction.init" => "a transactional producer could not be initialized: nothing can be sent yet",
          "transaction.begin" => "a transaction could not begin",
          "transaction.commit" => "a transaction was not committed; `retry` is true if the commit is retried",
          "transaction.abort" => "a transaction was not aborted; `retry` is true if the abort is retried",
          "transaction.store_offset" => "the group's coordinator did not take an offset into a transaction",
          "producer.middleware.error" => "a step of a producer's middleware raised; its message is not sent",
          "producer.reporter.error" => "a listener has ended the thread that calls a producer's listeners, and another thread " \
            "has taken over; or too many errors waited for that thread, and the oldest were dropped",
          "producer.undelivered.error" => "the object in `config.undelivered` raised",
          "producer.disconnect.error" => "an idle producer could not be disconnected",
          "producer.closed.error" => "the application's producer was closed by code of the application while it consumes; " \
            "another one takes its place",
          "connection_pool.reload.error" => "a producer of a pool could not be replaced when it was returned: it stays in use",
          "outbox.relay.error" => "a relay of the outbox can't reach the database or the cluster and goes on trying; a " \
            "configuration that can't be used ends it",
          "callbacks.statistics.error" => "statistics could not be read",
          "callbacks.oauthbearer_token_refresh.error" => "the listener for OAuth tokens raised",
          "flight_recorder.dump.error" => "what the flight recorder holds could not be written to a file",
          "instrumentation.listener.error" => "a listener raised; the others were called all the same"
        }.freeze

        class << self
          def declare(catalogue)
            catalogue.event("error.occurred", "Something failed. `type` says what, the other keys say where.", :type,
              :error, optional: CONTEXT)
          end
        end
      end
    end
  end
end
