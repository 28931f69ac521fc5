#ifndef PK_BINDING_H
#define PK_BINDING_H

#include "core/consumer.h"
#include "penstock_kafka.h"

/* Shared by the consumer's binding files (consumer*.c, lane.c, batch.c). */

typedef struct {
  pk_consumer_t *core; /* NULL until initialized */
} pk_rb_consumer_t;

typedef struct {
  pk_lane_t *core;
  VALUE topic;
  VALUE consumer;
} pk_rb_lane_t;

/* A structure of its own, not a pointer: the take fills it without the GVL, and
 * Ruby owns it from before the take. */
typedef struct {
  pk_batch_t core;
  VALUE topic;
  VALUE context;
  int32_t partition;
  bool released;
  size_t reported; /* bytes reported to the garbage collector */
} pk_rb_batch_t;

extern const rb_data_type_t pk_consumer_type;
extern const rb_data_type_t pk_lane_type;
extern const rb_data_type_t pk_batch_type;

/* The open core of a Consumer; raises if it was never initialized. */
pk_consumer_t *pk_consumer_of(VALUE self);
pk_rb_lane_t *pk_lane_of(VALUE self);

/* The core of a Lane of this consumer; raises for a lane of another one. */
pk_lane_t *pk_own_lane(VALUE consumer, VALUE lane);
VALUE pk_lane_wrap(VALUE consumer, pk_lane_t *core);

/* An empty batch for the records that will be taken from the lane. */
VALUE pk_batch_for(VALUE lane);
pk_rb_batch_t *pk_batch_of(VALUE self);

/* Reports a filled batch to the garbage collector. */
void pk_batch_account(pk_rb_batch_t *batch);

/* Raises for an error returned by pk_loop_enter or pk_query_start; 0 is
 * success. */
void pk_loop_check(int result, pk_consumer_t *consumer);

/* [number, message], or nil without a failure. */
VALUE pk_failure_value(const pk_failure_t *failure);

/* consumer_event.c: the event as an Array; runs inside the loop. */
VALUE pk_event_value(pk_consumer_t *consumer, rd_kafka_event_t *event);
/* The oldest answer of fetch_committed as an Array, or nil. */
VALUE pk_next_committed_value(pk_consumer_t *consumer);

/* consumer_list.c: converts lists of librdkafka from and to Arrays. The caller
 * destroys the list. The first reads everything before it allocates, so that it
 * raises before. */
rd_kafka_topic_partition_list_t *pk_list_from_values(VALUE array);
VALUE pk_list_values(const rd_kafka_topic_partition_list_t *list);

void Init_pk_consumer_loop(VALUE cConsumer);
void Init_pk_consumer_group(VALUE cConsumer);
void Init_pk_consumer_query(VALUE cConsumer);

#endif
