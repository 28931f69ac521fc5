#ifndef PK_COMMITTED_H
#define PK_COMMITTED_H

#include "query.h"

/* Reads what the group has committed, offsets and metadata, the way the group's
 * own member does it (rd_kafka_committed): the question goes to the coordinator
 * that the member knows now, and to the next one when that moves or dies.
 *
 * The Admin API asks for the same without blocking, but it looks coordinators up
 * by itself and keeps them: after a broker died the dead one was asked, 10 s each
 * time, and librdkafka ended the process when the connection went away in
 * between (librdkafka#3663, #4605, #5397). So the call that blocks is used, on a
 * thread of its own that ends with the answer. The answer is queued on the
 * consumer and wakes its loop.
 *
 * References: the thread's, until the answer is queued; then the queue's, until
 * pk_consumer_next_committed hands it to the loop, which unrefs the query. */
typedef struct pk_committed {
  pk_query_t query; /* err is 0 when the list is filled */
  struct pk_committed *next;
  intptr_t token;
  rd_kafka_topic_partition_list_t *list;
} pk_committed_t;

/* Takes the list. Partition RD_KAFKA_PARTITION_UA stands for every partition of
 * its topic. 0, PK_E_FORKED, PK_E_CLOSED or an errno; then there is no answer. */
int pk_consumer_fetch_committed(pk_consumer_t *consumer, rd_kafka_topic_partition_list_t *list, int timeout_ms,
                                intptr_t token);

/* The oldest answer or NULL; on the loop's thread. The caller unrefs its query. */
pk_committed_t *pk_consumer_next_committed(pk_consumer_t *consumer);

/* Frees the answers that nobody took; when the consumer is freed. */
void pk_consumer_drop_committed(pk_consumer_t *consumer);

#endif
