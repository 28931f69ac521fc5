#ifndef PK_TRANSACTION_H
#define PK_TRANSACTION_H

#include "producer.h"

/* A call about a transaction that waits for a broker: made on a short-lived thread
 * of its own, so that who asked can be interrupted. The thread asks again each
 * second, because librdkafka resumes these calls and only so notices that the
 * producer is to be closed; sending offsets isn't resumed, and takes what it takes.
 *
 * Why not on the asker's thread in slices as short as a flush's: one that ends
 * before librdkafka's main thread has taken its first step leaves an answer
 * behind, which the next takes for that of its second step.
 *
 * Two references: the asker's and the thread's; the last one cleans up. `lock`
 * guards `finished` and `interrupted`. `error` belongs to the thread until
 * `finished` is set, then to the asker. While the thread lives the handle isn't
 * destroyed. */

typedef enum { PK_TXN_INIT, PK_TXN_OFFSETS, PK_TXN_COMMIT, PK_TXN_ABORT } pk_txn_kind_t;

typedef struct pk_txn_call {
  _Atomic int refs;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool finished;
  bool interrupted;
  pk_producer_t *producer;
  pk_txn_kind_t kind;
  int timeout_ms; /* -1: as long as it takes */
  rd_kafka_topic_partition_list_t *offsets;  /* owned; of PK_TXN_OFFSETS only */
  rd_kafka_consumer_group_metadata_t *group; /* likewise */
  rd_kafka_error_t *error; /* NULL: it succeeded */
} pk_txn_call_t;

/* One reference, the asker's. */
pk_txn_call_t *pk_txn_call_new(pk_producer_t *producer, pk_txn_kind_t kind, int timeout_ms);
void pk_txn_call_unref(pk_txn_call_t *call);

/* Starts the thread: 0, PK_E_FORKED, PK_E_CLOSED, or an errno. */
int pk_txn_call_start(pk_txn_call_t *call);

/* Waits without the GVL: true when finished, false when interrupted. */
bool pk_txn_call_wait(pk_txn_call_t *call);
void pk_txn_call_interrupt(pk_txn_call_t *call);
bool pk_txn_call_done(pk_txn_call_t *call);

/* Needs no broker: an operation of librdkafka's main thread. Without the GVL. */
rd_kafka_error_t *pk_txn_begin(pk_producer_t *producer);

#endif
