#ifndef PK_QUERY_H
#define PK_QUERY_H

#include "consumer.h"

/* A call of librdkafka that waits for a broker and can't be interrupted, made on
 * a short-lived thread of its own, so that who asked can be: it goes its way and
 * the call ends when it ends, its answer unread.
 *
 * Two references: the asker's and the thread's; the last one cleans up. `lock`
 * guards `finished` and `interrupted`. What `run` writes belongs to the thread
 * until `finished` is set, then to the asker. While the thread lives the handle
 * isn't destroyed. */

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
  void (*clean)(struct pk_query *); /* frees what belongs to the kind, not the query */
} pk_query_t;

/* `query` is the first member of a malloced, zeroed struct; `run` and `clean` are
 * set. One reference, the asker's. */
void pk_query_init(pk_query_t *query, pk_consumer_t *consumer, int timeout_ms);
void pk_query_unref(pk_query_t *query);

/* Starts the thread: 0, PK_E_FORKED, PK_E_CLOSED, or an errno. */
int pk_query_start(pk_query_t *query);

/* Waits without the GVL: true when finished, false when interrupted. */
bool pk_query_wait(pk_query_t *query);
void pk_query_interrupt(pk_query_t *query);
bool pk_query_done(pk_query_t *query);

#endif
