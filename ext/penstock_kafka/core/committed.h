#ifndef PK_COMMITTED_H
#define PK_COMMITTED_H

#include "query.h"

/* Reads what the group has committed, offsets and metadata, like the group's
 * own member does (rd_kafka_committed): the request goes to the coordinator
 * that the member knows now, and to the next one if that moves or dies.
 *
 * The Admin API offers the same without blocking, but it looks up coordinators
 * by itself and keeps them: after a broker died it kept asking the dead one, 10
 * s each time, and librdkafka ended the process when the connection was closed
 * in between (librdkafka#3663, #4605, #5397). So the blocking call is used, on
 * a thread of its own that ends with the answer. The answer is queued in the
 * consumer and wakes its loop.
 *
 * References: the thread's, until the answer is queued; then the queue's, until
 * pk_consumer_next_committed passes it to the loop, which unrefs the query. */
typedef struct pk_committed {
  pk_query_t query; /* err is 0 if the list is filled */
  struct pk_committed *next;
  intptr_t token;
  rd_kafka_topic_partition_list_t *list;
} pk_committed_t;

/* Takes ownership of the list. Partition RD_KAFKA_PARTITION_UA means every
 * partition of its topic. 0, PK_E_FORKED, PK_E_CLOSED or an errno; with an
 * error there is no answer. */
int pk_consumer_fetch_committed(pk_consumer_t *consumer, rd_kafka_topic_partition_list_t *list, int timeout_ms,
                                intptr_t token);

/* The oldest answer or NULL; on the loop's thread. The caller unrefs its query. */
pk_committed_t *pk_consumer_next_committed(pk_consumer_t *consumer);

/* Frees answers that weren't taken; called when the consumer is freed. */
void pk_consumer_drop_committed(pk_consumer_t *consumer);

#endif
