#ifndef PK_PRODUCER_H
#define PK_PRODUCER_H

#include <pthread.h>
#include <rdkafka.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery.h"
#include "handle.h"
#include "undelivered.h"
#include "producer_flush.h"
#include "producer_reports.h"
#include "transaction_thread.h"

/* A producer: an rd_kafka_t, the one thread that takes its events, and the
 * state that other threads wait for.
 *
 * The event thread polls the main queue. A batch of delivery reports resolves
 * its handles and is destroyed at once (the queue's capacity and every flush
 * depend on that); then waiting producers are informed about the room. The
 * thread waits until the earliest timeout of a fiber's wait, and is woken by
 * rd_kafka_queue_yield for an earlier one and when the producer closes.
 *
 * Close: flush until the deadline, purge, flush, end its threads, resolve
 * remaining deliveries as unknown, destroy. librdkafka loses reports raised by
 * the destruction itself, which is why nothing may be open by then. */

/* A topic under the key by which the binding knows it: its name, or another one
 * if it was opened with properties of its own. librdkafka has one configuration
 * per topic and client, that of the first open (librdkafka#1155), so all keys
 * of a topic have the same configuration. */
struct pk_topic {
  rd_kafka_topic_t *rkt;
  rd_kafka_topic_conf_t *conf;
  char *key;
  char *name;
  size_t index;
};

typedef struct pk_producer {
  pk_handle_t handle;
  _Atomic int owners;      /* its Ruby object, and a thread that finishes it late */
  unsigned generation;     /* of the process that opened it: see pk_fork_generation */
  _Atomic bool accepting;  /* false as soon as a close has begun; set with the GVL held */
  rd_kafka_queue_t *queue; /* the main queue */
  pthread_t events;
  _Atomic bool stopping;
  pk_stripe_t stripes[PK_STRIPES];
  _Atomic unsigned opened; /* deliveries so far: picks the stripe */
  pk_topic_t **topics;     /* guarded by the binding's GVL */
  size_t topic_count;
  pk_flush_t flush;
  bool lingers;
  pk_reports_t reports;
  pk_undelivered_list_t undelivered;
  pk_txn_thread_t transactions;
  pthread_mutex_t room_lock;
  pthread_cond_t room;
  uint64_t room_ticket; /* counts the times that messages left the queue */
  int room_waiters;
  _Atomic int64_t expiry_ms; /* earliest timeout of a fiber's wait; the event thread checks then */
  _Atomic uint64_t accepted;
  _Atomic uint64_t delivered;
  _Atomic uint64_t failed;
} pk_producer_t;

/* Counts the forks that led to this process. Cheaper than getpid(), which is a
 * system call: producing checks it for every message. */
unsigned pk_fork_generation(void);

/* Initializes everything except the client. */
void pk_producer_init(pk_producer_t *producer);

/* Takes ownership of conf in any case. 0, or an error code with its text in
 * error. Starts the event thread. Takes milliseconds: call it without the GVL. */
rd_kafka_resp_err_t pk_producer_open(pk_producer_t *producer, rd_kafka_conf_t *conf, bool tokens, char *error,
                                     size_t error_size);

/* How to open a topic: `count` names and values of topic properties in `pairs`,
 * in addition to those of the client. */
typedef struct pk_topic_wish {
  const char *key;
  const char *name;
  const char **pairs;
  size_t count;
  rd_kafka_resp_err_t err;
  char error[512];
} pk_topic_wish_t;

/* The topic of that key, created on the first call; NULL with `err` if
 * librdkafka refuses it or a property, or (_CONFLICT) if it is in use with
 * other properties. There are few topics, and they live as long as the
 * producer. */
pk_topic_t *pk_producer_topic(pk_producer_t *producer, pk_topic_wish_t *wish);

/* Any topic of that name, or NULL. */
pk_topic_t *pk_producer_topic_named(pk_producer_t *producer, const char *name);

/* The stripe for the next delivery. */
pk_stripe_t *pk_producer_stripe(pk_producer_t *producer);

typedef struct pk_message {
  pk_topic_t *topic;
  const void *payload; /* NULL: a tombstone */
  size_t payload_size;
  const void *key;
  size_t key_size;
  int32_t partition;
  int64_t timestamp_ms;        /* 0: now */
  rd_kafka_headers_t *headers; /* owned by librdkafka after success */
  pk_delivery_t *delivery;     /* NULL: no handle is needed */
} pk_message_t;

/* Never blocks. 0, or the error: then nothing was sent and nothing will be
 * reported, and the delivery is resolved with the error. */
rd_kafka_resp_err_t pk_producer_send(pk_producer_t *producer, pk_message_t *message);

/* Messages accepted and not yet reported. (rd_kafka_outq_len counts events too.) */
uint64_t pk_producer_pending(pk_producer_t *producer);

/* Like pk_delivery_watch; the event thread checks the deadline. */
bool pk_producer_watch(pk_producer_t *producer, pk_delivery_t *delivery, pk_completions_t *watched, uint64_t number,
                       int64_t deadline_ms, bool urgent);

/* Wakes fibers whose timeout has passed; for the event thread. */
void pk_producer_expire(pk_producer_t *producer);

/* Waiting for room: take a ticket, try, and if the queue was full wait until
 * messages have left it since. `interrupted` is guarded by room_lock. */
uint64_t pk_producer_ticket(pk_producer_t *producer);
bool pk_producer_await_room(pk_producer_t *producer, uint64_t ticket, int64_t deadline_ms, const bool *interrupted);
void pk_producer_interrupt_room(pk_producer_t *producer, bool *interrupted);
void pk_producer_tell_room(pk_producer_t *producer);

/* Refuses messages from here on and wakes threads that wait for room. */
void pk_producer_refuse(pk_producer_t *producer);

/* One slice of a flush (at most 100 ms, because it can't be interrupted): true
 * if nothing is queued or in flight any more. Call it until the deadline. */
bool pk_producer_flush(pk_producer_t *producer, int64_t deadline_ms);

/* For a single message in flight: flushes for at most 2 ms, which ends with its
 * report. The waiting thread does this itself before it waits, so a single
 * synchronous caller of a nearby broker needs no helper. Does nothing if there
 * are other messages. */
void pk_producer_flush_lone(pk_producer_t *producer);

/* Everything queued or in flight is reported as purged. */
rd_kafka_resp_err_t pk_producer_purge(pk_producer_t *producer);

/* Closes if nothing is in progress and no call is inside: then it is closing,
 * and finish is next. Must be called with the GVL held, which every producing
 * thread needs. */
bool pk_producer_close_idle(pk_producer_t *producer);

/* The part of a close that can't be skipped: after it the client is destroyed
 * and every delivery resolved. No call may be inside. Returns the number of
 * deliveries that were resolved as unknown. */
int pk_producer_finish(pk_producer_t *producer);

/* Frees the memory of a producer that was finished or never opened. */
void pk_producer_free(pk_producer_t *producer);

/* Removes one owner; true if it was the last, which then finishes and frees it. */
bool pk_producer_disown(pk_producer_t *producer);

#endif
