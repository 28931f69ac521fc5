#ifndef PK_LANE_H
#define PK_LANE_H

#include <rdkafka.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batch.h"
#include "wake.h"

/* One partition with a queue of its own, separate from the consumer's.
 *
 * Threads: everything except readiness belongs to the consumer's loop thread,
 * which the consumer checks (see pk_loop_enter). librdkafka's threads signal
 * readiness under the queue's own lock: they set `marked`, push the lane onto
 * the hub's stack and signal the wake, nothing else.
 *
 * Lifetime: references are held by the Ruby object, by the consumer's list
 * while the lane is open or dying, and by the hub's stack while the lane is on
 * it. The readiness callback is stored in librdkafka's queue, which may outlive
 * the lane: pk_lane_quiet disables it before the queue is released. */

typedef struct pk_lane pk_lane_t;

/* The list of lanes that are ready; part of the consumer. Many threads push,
 * one takes the whole stack. */
typedef struct {
  pk_wake_t *wake;
  _Atomic(pk_lane_t *) ready;
} pk_hub_t;

typedef enum { PK_LANE_OPEN, PK_LANE_DYING, PK_LANE_CLOSED } pk_lane_state_t;

struct pk_lane {
  _Atomic int refs;
  _Atomic int marked; /* is on the hub's stack */
  pk_lane_t *next_ready;
  pk_hub_t *hub;
  rd_kafka_queue_t *queue;
  char *topic;
  int32_t partition;
  uint32_t id;
  pk_lane_state_t state;
  int64_t dying_since_ms;
  int64_t cursor;
  size_t record_bytes; /* mean of the last take: sizes the next */
  pk_batch_t held;     /* a live record that a touch found: first in the next take */
  pk_lane_t *next, *prev; /* the consumer's list */
};

/* Gives the partition a queue of its own and listens to it. Call it before the
 * partition is assigned. */
pk_lane_t *pk_lane_open(rd_kafka_t *rk, pk_hub_t *hub, uint32_t id, const char *topic, int32_t partition);
pk_lane_t *pk_lane_ref(pk_lane_t *lane);
void pk_lane_unref(pk_lane_t *lane);

/* Disables readiness: after the return no callback runs any more. */
void pk_lane_quiet(pk_lane_t *lane);

/* Releases the queue. The lane must be quiet. */
void pk_lane_release(pk_lane_t *lane);

/* Fills the batch from held and queued records, without waiting. */
void pk_lane_take(pk_lane_t *lane, uint32_t max_records, size_t max_bytes, pk_batch_t *batch);

/* Polls once, which drops all stale records; a live one is held and the lane is
 * marked ready. */
void pk_lane_touch(pk_lane_t *lane);

/* Drops the record that a touch held: after a seek. */
void pk_lane_drop_held(pk_lane_t *lane);

/* Drops the queued records of an unassigned lane. */
void pk_lane_drain(pk_lane_t *lane);

/* Puts the lane onto the hub's stack, unless it is already there. Any thread. */
void pk_lane_signal(pk_lane_t *lane);

/* Takes the ready lanes off the stack, oldest first, with one reference each
 * that the caller releases. Walk the list with pk_hub_next, which clears the
 * lane's bit before the lane is drained. */
pk_lane_t *pk_hub_collect(pk_hub_t *hub);
pk_lane_t *pk_hub_next(pk_lane_t *lane);

#endif
