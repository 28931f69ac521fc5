#ifndef PK_PRODUCING_H
#define PK_PRODUCING_H

#include "penstock_kafka.h"

#include "core/producer.h"
#include "core/transaction.h"

/* Shared by the files of Penstock::Native::Producer and ::Delivery. */

typedef struct pk_rproducer {
  pk_producer_t *core;  /* NULL until open */
  VALUE delivery_class; /* Penstock::Native::Delivery or a subclass */
  VALUE topics;         /* Hash: String or Symbol => index of the topic */
  VALUE names;          /* Array: index => frozen name */
  VALUE labels;         /* Hash: number => label of a message whose report is wanted */
  uint64_t last_label;
  size_t max_payload_bytes;
  VALUE reporter; /* the thread that takes the reports, or nil */
  pk_txn_call_t *txn; /* the transaction call in progress, or whose caller was interrupted */
  bool txn_awaited;   /* a thread waits for it */
  bool flushing;      /* a close waits for messages; changed with the GVL held */
} pk_rproducer_t;

pk_rproducer_t *pk_rproducer_get(VALUE self);

/* Whether the producer accepts messages: open, and not inherited through fork. */
static inline bool pk_rproducer_usable(const pk_rproducer_t *producer) {
  return producer->core && atomic_load_explicit(&producer->core->accepting, memory_order_relaxed) &&
         producer->core->generation == pk_fork_generation();
}

/* Raises ForkedHandleError or HandleClosedError unless it is usable. */
void pk_rproducer_check(const pk_rproducer_t *producer);

/* Removes the label from the producer and returns it; nil for number 0. */
VALUE pk_label_take(pk_rproducer_t *producer, uint64_t number);

/* A new pending delivery; *core is valid at least as long as it. */
VALUE pk_delivery_new(VALUE producer, pk_topic_t *topic, VALUE label, pk_delivery_t **core);

/* delivery.c: waits interruptibly; `urgent` keeps a flush open meanwhile. */
VALUE pk_delivery_await(VALUE delivery, VALUE timeout_ms, bool urgent);

/* delivery.c: like await, for a fiber, whose wait has a number. In a forked
 * child unwatch does nothing, because the parent's locks may be held forever. */
VALUE pk_delivery_watch_by(VALUE delivery, pk_completions_t *watched, uint64_t number, VALUE timeout_ms, bool urgent);
void pk_delivery_unwatch_by(VALUE delivery, const pk_completions_t *watched, uint64_t number);

VALUE pk_persisted_symbol(rd_kafka_msg_status_t status);

/* produce.c: a message Hash, read. */
typedef struct {
  pk_topic_t *topic;
  VALUE payload; /* String or nil */
  VALUE key;     /* String or nil */
  VALUE headers; /* Hash or nil */
  VALUE label;
  bool labelled;
  bool handle;
  int32_t partition;
  int64_t timestamp_ms;
} pk_parts_t;

/* False if a part is missing, unknown or invalid: then Ruby checks it. Headers
 * are only checked to be a Hash. Never raises or allocates. */
bool pk_read_message(pk_rproducer_t *producer, VALUE message, pk_parts_t *parts);

/* False if a name or value isn't a String (values may be nil). *headers is NULL
 * if there are none. Never raises. */
bool pk_build_headers(VALUE hash, rd_kafka_headers_t **headers);

/* The Delivery of a message, or true with *delivery NULL if none is wanted. */
VALUE pk_parts_delivery(VALUE self, pk_rproducer_t *producer, const pk_parts_t *parts, pk_delivery_t **delivery);

/* Points into the Strings of parts; the caller sets the headers. */
void pk_fill_message(const pk_parts_t *parts, pk_delivery_t *delivery, pk_message_t *message);
size_t pk_size_of(VALUE string);

/* Whether producing has to wait because too many reports do. The reporter
 * itself may produce: they wait for it. */
bool pk_held_back(pk_rproducer_t *producer);

void Init_pk_produce(VALUE cProducer);
void Init_pk_produce_many(VALUE cProducer);

/* producer_close.c: ends a producer. */
void pk_rproducer_reap(pk_producer_t *core);
void Init_pk_producer_close(VALUE cProducer);

/* producer_transactions.c */
void Init_pk_producer_transactions(VALUE cProducer);

/* rb_producer_undelivered.c: messages that a close could not deliver. */
void Init_pk_producer_undelivered(VALUE cProducer);

/* watched.c: closes the descriptors of a forked child's parent. With the GVL. */
void pk_completions_forked(void);

/* producer_reports.c: the methods that return reports and notices. */
void Init_pk_producer_reports(VALUE cProducer);

#endif
