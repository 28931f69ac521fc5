#ifndef PK_PRODUCING_H
#define PK_PRODUCING_H

#include "penstock_kafka.h"

#include "core/producer.h"
#include "core/transaction.h"

/* What the files behind Penstock::Native::Producer and ::Delivery share. */

typedef struct pk_rproducer {
  pk_producer_t *core;  /* NULL until open */
  VALUE delivery_class; /* Penstock::Native::Delivery or a subclass */
  VALUE topics;         /* Hash: String or Symbol => index of the topic */
  VALUE names;          /* Array: index => frozen name */
  VALUE labels;         /* Hash: number => label of a message whose report is wanted */
  uint64_t last_label;
  size_t max_payload_bytes;
  VALUE reporter; /* the thread that takes the reports, or nil */
  pk_txn_call_t *txn; /* the call about a transaction that is under way, or whose asker was interrupted */
  bool txn_awaited;   /* somebody waits for it */
} pk_rproducer_t;

pk_rproducer_t *pk_rproducer_get(VALUE self);

/* Whether the producer takes messages: open, and not inherited through fork. */
static inline bool pk_rproducer_usable(const pk_rproducer_t *producer) {
  return producer->core && atomic_load_explicit(&producer->core->accepting, memory_order_relaxed) &&
         producer->core->generation == pk_fork_generation();
}

/* Raises ForkedHandleError or HandleClosedError unless it is usable. */
void pk_rproducer_check(const pk_rproducer_t *producer);

/* Takes the label out of the producer's keeping; nil for number 0. */
VALUE pk_label_take(pk_rproducer_t *producer, uint64_t number);

/* A new pending delivery; *core is freed with it at the earliest. */
VALUE pk_delivery_new(VALUE producer, pk_topic_t *topic, VALUE label, pk_delivery_t **core);

/* delivery.c: waits interruptibly; `urgent` keeps a flush open meanwhile. */
VALUE pk_delivery_await(VALUE delivery, VALUE timeout_ms, bool urgent);

/* delivery.c: as await, for a fiber, whose wait has a number. In a fork's child
 * unwatch does nothing, for the parent's locks may be held for ever. */
VALUE pk_delivery_watch_by(VALUE delivery, pk_watched_t *watched, uint64_t number, VALUE timeout_ms, bool urgent);
void pk_delivery_unwatch_by(VALUE delivery, const pk_watched_t *watched, uint64_t number);

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

/* False when a part is missing, unknown or unfit: Ruby looks closer then. Headers
 * are only seen to be a Hash. Raises nothing, allocates nothing. */
bool pk_read_message(pk_rproducer_t *producer, VALUE message, pk_parts_t *parts);

/* False when a name or value is no String (values may be nil). *headers is NULL
 * when there are none. Raises nothing. */
bool pk_build_headers(VALUE hash, rd_kafka_headers_t **headers);

/* The Delivery of a message, or true with *delivery NULL when none is wanted. */
VALUE pk_parts_delivery(VALUE self, pk_rproducer_t *producer, const pk_parts_t *parts, pk_delivery_t **delivery);

/* Points into the Strings of parts; headers are the caller's to set. */
void pk_fill_message(const pk_parts_t *parts, pk_delivery_t *delivery, pk_message_t *message);
size_t pk_size_of(VALUE string);

/* Whether producing has to wait because too many reports do. The reporter itself
 * may produce: they wait for it. */
bool pk_held_back(pk_rproducer_t *producer);

void Init_pk_produce(VALUE cProducer);
void Init_pk_produce_many(VALUE cProducer);

/* producer_close.c: the end of a producer. */
void pk_rproducer_reap(pk_producer_t *core);
void Init_pk_producer_close(VALUE cProducer);

/* producer_transactions.c */
void Init_pk_producer_transactions(VALUE cProducer);

/* producer_leftovers.c: what a close could not deliver. */
void Init_pk_producer_leftovers(VALUE cProducer);

/* watched.c: closes the descriptors of a fork's parent. With the GVL. */
void pk_watched_forked(void);

/* producer_reports.c: the methods that hand out reports and notices. */
void Init_pk_producer_reports(VALUE cProducer);

#endif
