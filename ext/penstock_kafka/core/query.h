#ifndef PK_QUERY_H
#define PK_QUERY_H

#include "consumer.h"

/* A librdkafka call that waits for a broker and can't be interrupted, made on a
 * short-lived thread of its own, so that the caller can be interrupted: the
 * caller leaves, and the call ends later without its result being read.
 *
 * Two references: the caller's and the thread's; the last one frees it. `lock`
 * guards `finished` and `interrupted`. The results of `run` belong to the
 * thread until `finished` is set, then to the caller. While the thread lives
 * the handle isn't destroyed. */

typedef struct pk_query {
  _Atomic int refs;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool finished;
  bool interrupted;
  pk_consumer_t *consumer;
  int timeout_ms;
  rd_kafka_resp_err_t err;
  void (*run)(struct pk_query *);
  void (*clean)(struct pk_query *); /* frees the members of the specific kind, not the query */
} pk_query_t;

/* `query` is the first member of a malloced, zeroed struct; `run` and `clean`
 * are set. One reference, the caller's. */
void pk_query_init(pk_query_t *query, pk_consumer_t *consumer, int timeout_ms);
void pk_query_unref(pk_query_t *query);

/* Starts the thread: 0, PK_E_FORKED, PK_E_CLOSED, or an errno. */
int pk_query_start(pk_query_t *query);

/* Waits without the GVL: true when finished, false when interrupted. */
bool pk_query_wait(pk_query_t *query);
void pk_query_interrupt(pk_query_t *query);
bool pk_query_done(pk_query_t *query);

#endif
