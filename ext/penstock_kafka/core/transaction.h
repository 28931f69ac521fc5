#ifndef PK_TRANSACTION_H
#define PK_TRANSACTION_H

#include "event_flags.h"
#include "producer.h"

/* A transaction call that waits for a broker: made on a thread of the
 * producer's own (transaction_thread.h), so that the caller can be interrupted.
 * It is repeated each second: librdkafka resumes these calls, and only so the
 * thread notices that the producer is to be closed. Sending offsets isn't
 * resumed, and takes as long as it takes.
 *
 * Why not on the caller's thread in slices as short as a flush's: a slice that
 * ends before librdkafka's main thread has done its first step leaves an answer
 * that the next slice takes for the answer to its second step.
 *
 * Two references: the caller's and the thread's; the last one frees it. `error`
 * belongs to the thread until `finished` is set, then to the caller. During the
 * call the handle isn't destroyed. */

typedef enum { PK_TXN_INIT, PK_TXN_OFFSETS, PK_TXN_COMMIT, PK_TXN_ABORT } pk_txn_kind_t;

typedef struct pk_txn_call {
  _Atomic int refs;
  _Atomic bool finished; /* set with the lock held */
  pthread_mutex_t lock;  /* guards `sleeper` */
  pk_event_flags_t *sleeper; /* where the caller sleeps; NULL while it doesn't */
  pk_producer_t *producer;
  pk_txn_kind_t kind;
  int timeout_ms; /* -1: no limit */
  rd_kafka_topic_partition_list_t *offsets;  /* owned; only for PK_TXN_OFFSETS */
  rd_kafka_consumer_group_metadata_t *group; /* likewise */
  rd_kafka_error_t *error; /* NULL: it succeeded */
} pk_txn_call_t;

/* One reference, the caller's. */
pk_txn_call_t *pk_txn_call_new(pk_producer_t *producer, pk_txn_kind_t kind, int timeout_ms);
void pk_txn_call_unref(pk_txn_call_t *call);

/* Passes it to the thread: 0, PK_E_FORKED, PK_E_CLOSED, or an errno. */
int pk_txn_call_start(pk_txn_call_t *call);

/* Makes the call and drops a reference; for the thread. */
void pk_txn_call_make(pk_txn_call_t *call);

static inline bool pk_txn_call_done(const pk_txn_call_t *call) {
  return atomic_load(&call->finished);
}

/* One wait of the caller, on its stack. An interrupt before or during the wait
 * ends it, one after it has no effect: so call open before the moment from
 * which interrupts may come, and close after the last one. */
typedef struct pk_txn_wait {
  pk_txn_call_t *call;
  pk_event_flags_t flags;
} pk_txn_wait_t;

void pk_txn_wait_open(pk_txn_wait_t *wait, pk_txn_call_t *call);
void pk_txn_wait_close(pk_txn_wait_t *wait);

/* Waits until the call has finished (true) or the wait was interrupted. Blocks:
 * call it without the GVL. Once per open. */
bool pk_txn_wait(pk_txn_wait_t *wait);

/* Ends a wait. Any thread; async-signal-safe, takes no lock. */
void pk_txn_wait_interrupt(pk_txn_wait_t *wait);

/* Needs no broker: an operation of librdkafka's main thread. Call it without
 * the GVL. */
rd_kafka_error_t *pk_txn_begin(pk_producer_t *producer);

#endif
