#ifndef PK_PRODUCING_H
#define PK_PRODUCING_H

#include "penstock_kafka.h"

#include "core/producer.h"

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

VALUE pk_persisted_symbol(rd_kafka_msg_status_t status);

/* produce.c: the methods that take messages. */
void Init_pk_produce(VALUE cProducer);

/* producer_reports.c: the methods that hand out reports and notices. */
void Init_pk_producer_reports(VALUE cProducer);

#endif
