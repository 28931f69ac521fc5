#ifndef PK_TRANSACTION_THREAD_H
#define PK_TRANSACTION_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* The thread that makes a producer's transaction calls, one after the other:
 * started with the first, ended after a second without one, so that
 * transactions in quick succession don't need a thread each. A call that is
 * passed on during another one waits for that one's end. */

struct pk_txn_call;

typedef enum { PK_TXN_THREAD_NONE, PK_TXN_THREAD_RUNNING, PK_TXN_THREAD_ENDED } pk_txn_thread_state_t;

typedef struct pk_txn_thread {
  pthread_mutex_t lock;
  pthread_cond_t wanted;
  pthread_t thread;
  pk_txn_thread_state_t state; /* ENDED: the thread can be joined */
  bool stopping;
  struct pk_txn_call *next; /* passed on and not yet taken; the thread's reference */
} pk_txn_thread_t;

void pk_txn_thread_init(pk_txn_thread_t *thread);

/* Makes the thread run the call; takes over a reference. 0, or an errno: then
 * it took nothing. There is one call at a time; the caller ensures that. */
int pk_txn_thread_give(pk_txn_thread_t *thread, struct pk_txn_call *call);

/* Ends and joins the thread. No call may be in progress. Call it before
 * destroy. */
void pk_txn_thread_stop(pk_txn_thread_t *thread);
void pk_txn_thread_destroy(pk_txn_thread_t *thread);

#endif
