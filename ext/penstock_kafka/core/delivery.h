#ifndef PK_DELIVERY_H
#define PK_DELIVERY_H

#include <pthread.h>
#include <rdkafka.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "park.h"
#include "watched.h"

/* The fate of one message that was given to a producer.
 *
 * Two parties hold it: librdkafka (as the opaque of the message, until the
 * report) and whoever waits (Ruby's handle). It is freed by the second of them
 * that lets go, so neither a dropped handle nor a lost report leaves a pointer
 * behind.
 *
 * It is resolved exactly once: by its report, or as *unknown* when the producer
 * is closed before one came. Who waits for it sleeps on its own stack, or is a
 * fiber, and is listed in it, so that waking one costs the same however many wait
 * for others. The lock of one of 16 stripes guards what is open and who waits: a
 * lock a message would cost more than the message. Consecutive messages share a
 * stripe in runs, so that the thread which resolves them takes one lock a run
 * while producing goes on under another. */

#define PK_STRIPES 16
#define PK_STRIPE_RUN 64

typedef enum { PK_PENDING, PK_REPORTED, PK_UNKNOWN } pk_fate_t;

typedef struct pk_delivery pk_delivery_t;
typedef struct pk_delivery_wait pk_delivery_wait_t;
typedef struct pk_topic pk_topic_t;

typedef struct pk_stripe {
  pthread_mutex_t lock;
  pk_delivery_wait_t *watching; /* the waits without a thread: somebody must look at their time */
  pk_delivery_t *open;          /* all that wait for their report */
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
  uint64_t label;          /* the binding's number of a label it keeps; 0 for none */
  pk_stripe_t *stripe;
  pk_delivery_t *prev;
  pk_delivery_t *next;
  pk_delivery_wait_t *waiting;
  int urgent;       /* who wait for it right now; counted once in a pk_urgency_t */
  void *binding[3]; /* the binding's own */
};

/* Counts the deliveries somebody waits for right now; the flush helper works
 * while there are any. NULL where nobody wants to know. */
typedef struct pk_urgency {
  void (*more)(void *); /* called with no lock held, after an increment */
  void *arg;
  _Atomic int count;
} pk_urgency_t;

void pk_stripes_init(pk_stripe_t *stripes);
void pk_stripes_destroy(pk_stripe_t *stripes);

/* Fills in zeroed memory that the caller allocated with malloc. One reference. */
void pk_delivery_init(pk_delivery_t *delivery, pk_stripe_t *stripe, const pk_topic_t *topic);

/* Adds librdkafka's reference: from here on a report must come, or retract. */
void pk_delivery_open(pk_delivery_t *delivery);

/* The message was refused: librdkafka has no reference, there is no report. */
void pk_delivery_retract(pk_delivery_t *delivery, rd_kafka_resp_err_t err);

/* Frees it when it was the last one. Any thread; takes no lock. */
void pk_delivery_release(pk_delivery_t *delivery);

/* Resolves by a report and drops librdkafka's reference. Must be called with the
 * stripe's lock held, so that a run of reports takes it once; the bell is rung
 * behind it (pk_watched_ring). */
void pk_delivery_report_locked(pk_delivery_t *delivery, const rd_kafka_message_t *message, pk_urgency_t *urgency,
                               pk_watched_t **bell);

/* Resolves every open delivery as unknown. The reports of these must not come
 * any more. Returns their number. */
int pk_deliveries_abandon(pk_stripe_t *stripes, pk_urgency_t *urgency);

/* One wait of one thread.
 *
 * Whoever resolves the delivery takes the wait off its list and then
 * tells it; a wait that was told has nothing left to undo. One that ends otherwise
 * takes itself off the list. An interrupt
 *   before the wait   (open was called) is kept: the wait ends at once
 *   during it         ends it; the delivery may have been resolved meanwhile,
 *                     which the fate tells
 *   after it          is of no effect, as long as close hasn't been called
 * so open precedes the moment from which interrupts may come, and close follows
 * the one after which none comes any more. */
struct pk_delivery_wait {
  pk_delivery_t *delivery;
  int64_t deadline_ms;
  pk_urgency_t *urgency;
  pk_park_t park;
  pk_delivery_wait_t *next; /* these guarded by the stripe's lock; watching of a fiber alone */
  pk_delivery_wait_t *watching_prev, *watching_next;
  pk_watched_t *watched;    /* of a fiber: whoever resolves puts the number in there, and lets go of it */
  uint64_t number;
};

void pk_delivery_wait_open(pk_delivery_wait_t *wait);
void pk_delivery_wait_close(pk_delivery_wait_t *wait);

/* Waits until it is resolved, the deadline has passed or the wait was
 * interrupted; true when it is resolved. Blocks: without the GVL. Once an open. */
bool pk_delivery_wait(pk_delivery_wait_t *wait);

/* Ends a wait. Any thread; async-signal-safe, takes no lock. */
void pk_delivery_interrupt(pk_delivery_wait_t *wait);

/* A wait without a thread: when it is resolved, or pk_deliveries_expire finds the
 * deadline passed, the number is put into `watched`, once. False when there is
 * nothing to wait for any more. Blocks nobody. */
bool pk_delivery_watch(pk_delivery_t *delivery, pk_watched_t *watched, uint64_t number, int64_t deadline_ms,
                       pk_urgency_t *urgency);

/* Ends that wait; the number may have been put in already. */
void pk_delivery_unwatch(pk_delivery_t *delivery, const pk_watched_t *watched, uint64_t number);

/* Ends the waits without a thread whose deadline has passed. Returns the nearest
 * deadline of the others. */
int64_t pk_deliveries_expire(pk_stripe_t *stripes, int64_t now_ms);

static inline pk_fate_t pk_delivery_fate(const pk_delivery_t *delivery) {
  return (pk_fate_t)atomic_load_explicit(&delivery->fate, memory_order_acquire);
}

#endif
