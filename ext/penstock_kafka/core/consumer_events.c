/* Events from the consumer's queues, and the answers to them: rebalances and
 * commits. */
#include "consumer_parts.h"

#include <string.h>

static void pk_pending_push(pk_consumer_t *consumer, rd_kafka_event_t *event) {
  if (consumer->pending_count == consumer->pending_capacity) {
    consumer->pending_capacity = consumer->pending_capacity ? 2 * consumer->pending_capacity : 4;
    consumer->pending = pk_realloc(consumer->pending, consumer->pending_capacity * sizeof *consumer->pending);
  }
  consumer->pending[consumer->pending_count++] = event;
}

rd_kafka_event_t *pk_pending_shift(pk_consumer_t *consumer) {
  rd_kafka_event_t *event = consumer->pending[0];

  consumer->pending_count--;
  memmove(consumer->pending, consumer->pending + 1, consumer->pending_count * sizeof *consumer->pending);
  return event;
}

void pk_consumer_drop_current(pk_consumer_t *consumer) {
  if (consumer->current) rd_kafka_event_destroy(consumer->current);
  consumer->current = NULL;
}

rd_kafka_event_t *pk_consumer_poll_event(pk_consumer_t *consumer) {
  rd_kafka_event_t *event;

  pk_consumer_drop_current(consumer);
  if (consumer->dying) pk_consumer_bury_lanes(consumer);
  event = rd_kafka_queue_poll(consumer->queue, 0);
  if (!event) event = rd_kafka_queue_poll(consumer->replies, 0);
  consumer->more = event != NULL;
  if (!event) return NULL;
  if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE) {
    pk_pending_push(consumer, event);
  } else {
    consumer->current = event;
  }
  return event;
}

static rd_kafka_error_t *pk_error_of(rd_kafka_resp_err_t err) {
  return err ? rd_kafka_error_new(err, "%s", rd_kafka_err2str(err)) : NULL;
}

/* librdkafka refuses the pair of calls of the wrong protocol, and then every
 * lane stays paused: so the protocol is checked each time. */
static rd_kafka_error_t *pk_rebalance(rd_kafka_t *rk, bool assign, const rd_kafka_topic_partition_list_t *partitions) {
  const char *protocol = rd_kafka_rebalance_protocol(rk);

  if (protocol && !strcmp(protocol, "COOPERATIVE")) {
    return assign ? rd_kafka_incremental_assign(rk, partitions) : rd_kafka_incremental_unassign(rk, partitions);
  }
  return pk_error_of(rd_kafka_assign(rk, assign ? partitions : NULL));
}

/* Once the consumer is leaving the group, the first answer unassigns
 * everything, regardless of its content, and there must not be a second:
 * librdkafka drops a request that arrives after the end of the group without an
 * answer, and the caller would wait forever. (While an event is really waiting
 * the group can't end, so the first is safe.) */
static rd_kafka_error_t *pk_rebalance_leaving(pk_consumer_t *consumer) {
  if (consumer->unassigned) return NULL;
  consumer->unassigned = true;
  return pk_error_of(rd_kafka_assign(consumer->handle.rk, NULL));
}

static rd_kafka_error_t *pk_rebalance_answer(pk_consumer_t *consumer, rd_kafka_event_t *event,
                                             const rd_kafka_topic_partition_list_t *partitions) {
  bool assign = rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;

  if (consumer->close_begun) return pk_rebalance_leaving(consumer);
  return pk_rebalance(consumer->handle.rk, assign, partitions ? partitions : rd_kafka_event_topic_partition_list(event));
}

bool pk_consumer_answer(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *partitions,
                        pk_failure_t *failure) {
  rd_kafka_event_t *event;

  if (!consumer->pending_count) return false;
  event = pk_pending_shift(consumer);
  pk_failure_take(failure, pk_rebalance_answer(consumer, event, partitions));
  rd_kafka_event_destroy(event);
  pk_consumer_touch_lanes(consumer);
  return true;
}

void pk_consumer_assign(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *partitions,
                        pk_failure_t *failure) {
  if (consumer->close_begun) return;
  pk_failure_take(failure, rd_kafka_incremental_assign(consumer->handle.rk, partitions));
  pk_consumer_touch_lanes(consumer);
}

void pk_consumer_unassign(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *partitions,
                          pk_failure_t *failure) {
  if (consumer->close_begun) return;
  pk_failure_take(failure, rd_kafka_incremental_unassign(consumer->handle.rk, partitions));
}

rd_kafka_resp_err_t pk_consumer_commit(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *offsets,
                                       void *token) {
  return rd_kafka_commit_queue(consumer->handle.rk, offsets, consumer->replies, NULL, token);
}
