#ifndef PK_DELIVERY_H
#define PK_DELIVERY_H

#include <pthread.h>
#include <rdkafka.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "event_flags.h"
#include "completions.h"

/* The outcome of one message that was passed to a producer.
 *
 * Two parties hold it: librdkafka (as the opaque of the message, until the
 * report) and the Ruby handle. The second one to release it frees it, so
 * neither a dropped handle nor a lost report leaves a dangling pointer.
 *
 * It is resolved exactly once: by its report, or as *unknown* if the producer
 * is closed before the report. A wait is on the stack of its thread, or belongs
 * to a fiber, and is listed in the delivery, so that waking it costs the same
 * however many others wait. One lock of 16 stripes guards open deliveries and
 * waits: a lock per message would cost more than the message. Consecutive
 * messages share a stripe in runs, so that the thread which resolves them takes
 * one lock per run while other threads produce under another. */

#define PK_STRIPES 16
#define PK_STRIPE_RUN 64

typedef enum { PK_PENDING, PK_REPORTED, PK_UNKNOWN } pk_fate_t;

typedef struct pk_delivery pk_delivery_t;
typedef struct pk_delivery_wait pk_delivery_wait_t;
typedef struct pk_topic pk_topic_t;

typedef struct pk_stripe {
  pthread_mutex_t lock;
  pk_delivery_wait_t *watching; /* the waits without a thread: the event thread checks their timeout */
  pk_delivery_t *open;          /* deliveries that wait for their report */
} pk_stripe_t;

struct pk_delivery {
  _Atomic int refs;
  _Atomic int fate; /* pk_fate_t; everything below is written before it leaves PK_PENDING */
  rd_kafka_resp_err_t err;
  rd_kafka_msg_status_t persisted;
  int32_t partition;
  int64_t offset;
  int64_t timestamp_ms;
  const pk_topic_t *topic; /* lives as long as the producer */
  uint64_t label;          /* the number under which the binding keeps the label; 0 for none */
  pk_stripe_t *stripe;
  pk_delivery_t *prev;
  pk_delivery_t *next;
  pk_delivery_wait_t *waiting;
  int urgent;       /* number of urgent waits; counted once in a pk_urgency_t */
  void *binding[3]; /* used by the binding */
};

/* Counts the deliveries with an urgent wait; the flush helper works while there
 * are any. NULL if it isn't needed. */
typedef struct pk_urgency {
  void (*more)(void *); /* called with no lock held, after an increment */
  void *arg;
  _Atomic int count;
} pk_urgency_t;

void pk_stripes_init(pk_stripe_t *stripes);
void pk_stripes_destroy(pk_stripe_t *stripes);

/* Initializes zeroed memory that the caller allocated with malloc. One
 * reference. */
void pk_delivery_init(pk_delivery_t *delivery, pk_stripe_t *stripe, const pk_topic_t *topic);

/* Adds librdkafka's reference: from here on a report, or retract, must follow. */
void pk_delivery_open(pk_delivery_t *delivery);

/* The message was refused: librdkafka has no reference, there is no report. */
void pk_delivery_retract(pk_delivery_t *delivery, rd_kafka_resp_err_t err);

/* Frees it if this was the last reference. Any thread; takes no lock. */
void pk_delivery_release(pk_delivery_t *delivery);

/* Resolves by a report and drops librdkafka's reference. Must be called with
 * the stripe's lock held, so that a run of reports takes it once; the bell is
 * rung after it is released (pk_completions_ring). */
void pk_delivery_report_locked(pk_delivery_t *delivery, const rd_kafka_message_t *message, pk_urgency_t *urgency,
                               pk_completions_t **bell);

/* Resolves every open delivery as unknown. Their reports must not arrive any
 * more. Returns their number. */
int pk_deliveries_abandon(pk_stripe_t *stripes, pk_urgency_t *urgency);

/* One wait of one thread.
 *
 * The resolving thread takes the wait off its list and then wakes it; a wait
 * that was woken has nothing left to undo. One that ends otherwise takes itself
 * off the list. An interrupt
 *   before the wait   (open was called) is kept: the wait ends at once
 *   during it         ends it; the delivery may have been resolved meanwhile,
 *                     see the fate
 *   after it          has no effect, as long as close hasn't been called
 * so call open before the moment from which interrupts may come, and close
 * after the last one. */
struct pk_delivery_wait {
  pk_delivery_t *delivery;
  int64_t deadline_ms;
  pk_urgency_t *urgency;
  pk_event_flags_t flags;
  pk_delivery_wait_t *next; /* guarded by the stripe's lock, like the next two, which only fibers use */
  pk_delivery_wait_t *watching_prev, *watching_next;
  pk_completions_t *watched;    /* of a fiber: resolving puts the number in here, and releases it */
  uint64_t number;
};

void pk_delivery_wait_open(pk_delivery_wait_t *wait);
void pk_delivery_wait_close(pk_delivery_wait_t *wait);

/* Waits until it is resolved, the deadline has passed or the wait was
 * interrupted; true if it is resolved. Blocks: call it without the GVL. Once
 * per open. */
bool pk_delivery_wait(pk_delivery_wait_t *wait);

/* Ends a wait. Any thread; async-signal-safe, takes no lock. */
void pk_delivery_interrupt(pk_delivery_wait_t *wait);

/* A wait without a thread: when the delivery is resolved, or
 * pk_deliveries_expire finds the deadline passed, the number is put into
 * `watched`, once. False if there is nothing to wait for any more. Doesn't
 * block. */
bool pk_delivery_watch(pk_delivery_t *delivery, pk_completions_t *watched, uint64_t number, int64_t deadline_ms,
                       pk_urgency_t *urgency);

/* Ends that wait; the number may already have been put in. */
void pk_delivery_unwatch(pk_delivery_t *delivery, const pk_completions_t *watched, uint64_t number);

/* Ends the waits without a thread whose deadline has passed. Returns the nearest
 * deadline of the others. */
int64_t pk_deliveries_expire(pk_stripe_t *stripes, int64_t now_ms);

static inline pk_fate_t pk_delivery_fate(const pk_delivery_t *delivery) {
  return (pk_fate_t)atomic_load_explicit(&delivery->fate, memory_order_acquire);
}

#endif
