#ifndef PK_CONSUMER_H
#define PK_CONSUMER_H

#include "handle.h"
#include "lane.h"
#include "wake.h"

/* One member of a group: librdkafka's handle, its queues, its lanes and the
 * rebalance events that wait for an answer.
 *
 * Threads: one loop thread calls everything between pk_loop_enter and
 * pk_loop_leave (checked: a second thread gets an error). Any thread may wake
 * the loop, read cached values and run queries (query.h). Any thread may close:
 * close refuses new calls, waits for those inside, and then uses the consumer
 * alone.
 *
 * Locks: handle.lock (counts, state) only, for a few instructions. Callbacks of
 * librdkafka run under its queue locks and only touch atomics and the wake.
 *
 * Memory: reference-counted: the Ruby object, each running query, the reaper. */

#define PK_E_BUSY (-3) /* another thread is inside the loop's calls */

#define PK_TEXT_BYTES 512

typedef struct {
  int number; /* 0: no failure */
  char text[PK_TEXT_BYTES];
} pk_failure_t;

typedef struct pk_consumer {
  pk_handle_t handle;
  _Atomic int refs;
  pk_wake_t wake;
  pk_hub_t hub;
  rd_kafka_queue_t *queue;   /* the consumer queue: events, logs, errors */
  rd_kafka_queue_t *replies; /* answers of commits */
  int queries;                    /* guarded by handle.lock; handle.idle is signalled at 0 */
  struct pk_committed *committed; /* answers of committed.h, oldest first; guarded by handle.lock */
  _Atomic int in_loop;
  _Atomic int hurry; /* set by an interrupt of close: don't leave the group */
  /* From here on used by the loop thread, or the closing one. */
  pk_lane_t *lanes;
  pk_lane_t *dying;
  uint32_t next_lane_id;
  rd_kafka_event_t *current; /* being converted; destroyed at the next poll */
  rd_kafka_event_t **pending; /* rebalance events without an answer, oldest first */
  size_t pending_count;
  size_t pending_capacity;
  bool close_begun;
  bool leaving;    /* the close has begun, and wasn't refused */
  bool unassigned; /* everything, since the close began */
  bool more; /* the last poll found an event: there may be more */
} pk_consumer_t;

/* Enables our patches; false if librdkafka doesn't have them. */
bool pk_consumer_patched(rd_kafka_conf_t *conf);

/* Takes ownership of the configuration in any case. NULL with the failure
 * filled. */
pk_consumer_t *pk_consumer_new(rd_kafka_conf_t *conf, pk_failure_t *failure);
void pk_consumer_ref(pk_consumer_t *consumer);
void pk_consumer_unref(pk_consumer_t *consumer);

/* Like pk_handle_enter, but only one thread may be inside: else PK_E_BUSY. */
int pk_loop_enter(pk_consumer_t *consumer);
void pk_loop_leave(pk_consumer_t *consumer);

/* Between enter and leave. Blocks up to timeout_ms. */
bool pk_consumer_wait(pk_consumer_t *consumer, int timeout_ms);

/* ---- the loop thread, inside ---- */

/* The next event or NULL, without waiting: from the consumer queue (this counts
 * as a poll), else from the replies. The event is valid until the next call; a
 * rebalance event is kept as pending and is valid until it is answered. */
rd_kafka_event_t *pk_consumer_poll_event(pk_consumer_t *consumer);

/* Answers the oldest pending event, by default with exactly its partitions,
 * then marks every lane: its queued records may be stale. Once the close has
 * begun the first answer unassigns everything and the others do nothing. Blocks
 * for librdkafka's main thread. False if nothing is pending. */
bool pk_consumer_answer(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *partitions,
                        pk_failure_t *failure);

/* For a consumer that has not subscribed: adds partitions to those it has,
 * which are not disturbed. Blocks for librdkafka's main thread. */
void pk_consumer_assign(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *partitions,
                        pk_failure_t *failure);

/* The reverse, for partitions that were assigned in this way: they are fetched
 * no longer. Their lanes are closed separately, afterwards. Blocks for
 * librdkafka's main thread. */
void pk_consumer_unassign(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *partitions,
                          pk_failure_t *failure);

pk_lane_t *pk_consumer_lane(pk_consumer_t *consumer, const char *topic, int32_t partition);
void pk_consumer_close_lane(pk_consumer_t *consumer, pk_lane_t *lane);
void pk_consumer_seek(pk_consumer_t *consumer, pk_lane_t *lane, int64_t offset, int32_t leader_epoch,
                      pk_failure_t *failure);
rd_kafka_resp_err_t pk_consumer_commit(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *offsets,
                                       void *token);
void pk_consumer_close_begin(pk_consumer_t *consumer, pk_failure_t *failure);

/* ---- any thread, outside ---- */

/* Closes: PK_CLOSE_DONE if another call has closed it. Answers pending events,
 * returns the lanes, leaves the group until the deadline, destroys the handle.
 * The reaper finishes what is left at the deadline (a running query, a call
 * inside). pk_consumer_hurry, from any thread, ends the leaving at once. */
int pk_consumer_close(pk_consumer_t *consumer, int64_t deadline_ms);
void pk_consumer_hurry(pk_consumer_t *consumer);

/* The owner was freed without a close: the reaper closes. Takes over the
 * reference. */
void pk_consumer_abandon(pk_consumer_t *consumer);

/* A query keeps the handle from being destroyed, but not from leaving the
 * group. */
int pk_consumer_query_enter(pk_consumer_t *consumer);
void pk_consumer_query_leave(pk_consumer_t *consumer);

void pk_failure_set(pk_failure_t *failure, int number, const char *text);
/* Takes ownership of the error, which may be NULL. True if there was one. */
bool pk_failure_take(pk_failure_t *failure, rd_kafka_error_t *error);

#endif
