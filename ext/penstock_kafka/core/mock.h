/* librdkafka's mock cluster as a handle: a small Kafka in the memory of this
 * process that listens on 127.0.0.1. It owns an rd_kafka_t that only serves the
 * cluster and connects to nothing, and librdkafka's mock thread.
 *
 * The calls below are operations for that thread: they wait for its answer, for
 * microseconds, and are made without the GVL by a caller that has entered the
 * handle. */
#ifndef PK_CORE_MOCK_H
#define PK_CORE_MOCK_H

#include "handle.h"

#include <rdkafka_mock.h>

#define PK_MOCK_MAX_BROKERS 64
#define PK_MOCK_MAX_PARTITIONS 10000

typedef struct {
  pk_handle_t handle;
  rd_kafka_mock_cluster_t *cluster; /* NULL once it is shut down */
} pk_mock_t;

/* NULL with a text in error. The cluster is listening when this returns. */
pk_mock_t *pk_mock_new(int brokers, char *error, size_t size);

/* Shuts the cluster down and joins its threads; the struct stays. Only for the
 * caller that got PK_CLOSE_MINE from pk_handle_begin_close. */
void pk_mock_take_down(pk_mock_t *mock);

/* Shuts it down if it runs and frees everything. In a child that inherited it,
 * frees only the struct. */
void pk_mock_free(pk_mock_t *mock);

/* One error (or none) and one round trip for the next request of this kind to
 * one broker; may be called repeatedly, they queue up. */
rd_kafka_resp_err_t pk_mock_push_error_rtt(pk_mock_t *mock, int broker, int api_key, int error, int rtt_ms);

#endif
