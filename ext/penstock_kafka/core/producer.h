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
#include "leftovers.h"
#include "producer_flush.h"
#include "producer_reports.h"
#include "transaction_thread.h"

/* A producer: an rd_kafka_t, the one thread that takes its events, and what
 * others wait for.
 *
 * The event thread polls the main queue. A batch of delivery reports resolves
 * its handles, is destroyed at once (the queue's capacity and every flush hang
 * on that), and then the room is told. It waits until the time of a fiber's wait
 * may be over, and is roused by rd_kafka_queue_yield for an earlier one and when
 * the producer closes.
 *
 * Close: flush until the deadline, purge, flush, end its threads, resolve what
 * is still open as unknown, destroy. Reports raised by the destruction itself are
 * lost in librdkafka, which is why nothing may be open by then. */

/* A topic under the key by which the binding knows it: its name, or another one
 * where it was opened with properties of its own. librdkafka has one configuration
 * a topic and client, that of the first who opened it (librdkafka#1155), so all keys
 * of a topic have the same. */
struct pk_topic {
  rd_kafka_topic_t *rkt;
  rd_kafka_topic_conf_t *conf;
  char *key;
  char *name;
  size_t index;
};

typedef struct pk_producer {
  pk_handle_t handle;
  _Atomic int owners;      /* its Ruby object, and a thread that ends it late */
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
  pk_leftovers_t leftovers;
  pk_txn_thread_t transactions;
  pthread_mutex_t room_lock;
  pthread_cond_t room;
  uint64_t room_ticket; /* counts the times that messages left the queue */
  int room_waiters;
  _Atomic int64_t expiry_ms; /* when the time of a fiber may be over; the event thread looks then */
  _Atomic uint64_t accepted;
  _Atomic uint64_t delivered;
  _Atomic uint64_t failed;
} pk_producer_t;

/* Counts the forks behind this process. Cheaper than getpid(), which is a system
 * call: producing looks at it for every message. */
unsigned pk_fork_generation(void);

/* Sets everything up but the client. */
void pk_producer_init(pk_producer_t *producer);

/* Takes conf in every case. 0, or what went wrong, with error filled in. Starts the event
 * thread. Takes milliseconds: without the GVL. */
rd_kafka_resp_err_t pk_producer_open(pk_producer_t *producer, rd_kafka_conf_t *conf, bool tokens, char *error,
                                     size_t error_size);

/* What a topic is opened with: `count` names and values of topic properties in
 * `pairs`, beside those of the client. */
typedef struct pk_topic_wish {
  const char *key;
  const char *name;
  const char **pairs;
  size_t count;
  rd_kafka_resp_err_t err;
  char error[512];
} pk_topic_wish_t;

/* The topic of that key, made at the first call; NULL with `err` when librdkafka
 * refuses it or a property, or (_CONFLICT) when it is in use with others. Topics
 * are few and live as long as the producer. */
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
  rd_kafka_headers_t *headers; /* taken over when it succeeds */
  pk_delivery_t *delivery;     /* NULL: nobody wants to know */
} pk_message_t;

/* Never waits. 0, or the error: then nothing was sent and nothing will be
 * reported, and the delivery is resolved with it. */
rd_kafka_resp_err_t pk_producer_send(pk_producer_t *producer, pk_message_t *message);

/* Messages accepted and not yet reported. (rd_kafka_outq_len counts events too.) */
uint64_t pk_producer_pending(pk_producer_t *producer);

/* pk_delivery_watch, whose time the event thread looks after. */
bool pk_producer_watch(pk_producer_t *producer, pk_delivery_t *delivery, pk_watched_t *watched, uint64_t number,
                       int64_t deadline_ms, bool urgent);

/* Tells the fibers whose time is over; the event thread's. */
void pk_producer_expire(pk_producer_t *producer);

/* Waiting for room: take a ticket, try, and when the queue was full wait until
 * messages have left it since. `interrupted` is guarded by room_lock. */
uint64_t pk_producer_ticket(pk_producer_t *producer);
bool pk_producer_await_room(pk_producer_t *producer, uint64_t ticket, int64_t deadline_ms, const bool *interrupted);
void pk_producer_interrupt_room(pk_producer_t *producer, bool *interrupted);
void pk_producer_tell_room(pk_producer_t *producer);

/* Refuses messages from here on and wakes those who wait for room. */
void pk_producer_refuse(pk_producer_t *producer);

/* One slice of a flush (at most 100 ms, because it can't be interrupted): true
 * when nothing is queued or in flight any more. Call it until the deadline. */
bool pk_producer_flush(pk_producer_t *producer, int64_t deadline_ms);

/* For a message that is alone on its way: flushes for at most 2 ms, which ends with
 * its report. The waiter does this itself before it waits, so a lone synchronous
 * caller of a near broker needs no helper. Does nothing when there are others. */
void pk_producer_flush_lone(pk_producer_t *producer);

/* Everything queued or in flight is reported as purged. */
rd_kafka_resp_err_t pk_producer_purge(pk_producer_t *producer);

/* Whether there is nothing under way and nobody inside: then it is closing, and
 * finish is next. Must be called with the GVL held, which whoever produces needs. */
bool pk_producer_close_idle(pk_producer_t *producer);

/* The part of a close that can't be left out: after it the client is gone and
 * every delivery resolved. Nobody may be inside. Returns the deliveries that had
 * to be resolved as unknown. */
int pk_producer_finish(pk_producer_t *producer);

/* Frees the memory of a producer that was finished or never opened. */
void pk_producer_free(pk_producer_t *producer);

/* One owner less; true when it was the last, who then finishes and frees it. */
bool pk_producer_disown(pk_producer_t *producer);

#endif
