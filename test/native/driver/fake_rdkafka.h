#ifndef FAKE_RDKAFKA_H
#define FAKE_RDKAFKA_H

#include <rdkafka.h>

/* The features of librdkafka's queue that lanes use: edge-triggered readiness
 * under the queue's lock, and messages that are counted until they are
 * destroyed. */

rd_kafka_queue_t *fake_queue(void); /* returned by the next get_partition */

/* Any thread. Null bytes for no payload; err instead of a record. */
void fake_push(rd_kafka_queue_t *queue, int64_t offset, const char *payload, int headers);
void fake_push_error(rd_kafka_queue_t *queue, rd_kafka_resp_err_t err, int64_t offset);

int fake_messages_alive(void);
int fake_queues_alive(void);

#endif
