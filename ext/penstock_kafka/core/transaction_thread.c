#include "transaction_thread.h"

#include "clock.h"
#include "thread.h"
#include "transaction.h"

#define PK_TXN_IDLE_MS 1000

/* Must be called with the lock held. NULL after a long time without a call. */
static pk_txn_call_t *pk_txn_next_locked(pk_txn_thread_t *thread) {
  int64_t deadline_ms = pk_deadline(PK_TXN_IDLE_MS);
  pk_txn_call_t *call;

  while (!thread->next && !thread->stopping) {
    if (!pk_cond_wait_until(&thread->wanted, &thread->lock, deadline_ms)) break;
  }
  call = thread->next;
  thread->next = NULL;
  return call;
}

static void *pk_txn_thread_main(void *arg) {
  pk_txn_thread_t *thread = arg;
  pk_txn_call_t *call;

  pthread_mutex_lock(&thread->lock);
  while ((call = pk_txn_next_locked(thread))) {
    pthread_mutex_unlock(&thread->lock);
    pk_txn_call_make(call);
    pthread_mutex_lock(&thread->lock);
  }
  thread->state = PK_TXN_THREAD_ENDED;
  pthread_mutex_unlock(&thread->lock);
  return NULL;
}

/* Must be called with the lock held. A thread that has ended only needs to
 * return, so joining it here takes no time. */
static int pk_txn_thread_start_locked(pk_txn_thread_t *thread) {
  int result;

  if (thread->state == PK_TXN_THREAD_ENDED) pthread_join(thread->thread, NULL);
  thread->state = PK_TXN_THREAD_NONE;
  result = pk_thread_start(&thread->thread, "pk:transaction", pk_txn_thread_main, thread);
  if (!result) thread->state = PK_TXN_THREAD_RUNNING;
  return result;
}

int pk_txn_thread_give(pk_txn_thread_t *thread, pk_txn_call_t *call) {
  int result = 0;

  pthread_mutex_lock(&thread->lock);
  if (thread->state != PK_TXN_THREAD_RUNNING) result = pk_txn_thread_start_locked(thread);
  if (!result) {
    thread->next = call;
    pthread_cond_signal(&thread->wanted);
  }
  pthread_mutex_unlock(&thread->lock);
  return result;
}

void pk_txn_thread_init(pk_txn_thread_t *thread) {
  pthread_mutex_init(&thread->lock, NULL);
  pk_cond_init(&thread->wanted);
  thread->state = PK_TXN_THREAD_NONE;
  thread->stopping = false;
  thread->next = NULL;
}

void pk_txn_thread_stop(pk_txn_thread_t *thread) {
  bool join;

  pthread_mutex_lock(&thread->lock);
  thread->stopping = true;
  pthread_cond_signal(&thread->wanted);
  join = thread->state != PK_TXN_THREAD_NONE;
  pthread_mutex_unlock(&thread->lock);
  if (join) pthread_join(thread->thread, NULL);
  thread->state = PK_TXN_THREAD_NONE;
}

void pk_txn_thread_destroy(pk_txn_thread_t *thread) {
  pthread_cond_destroy(&thread->wanted);
  pthread_mutex_destroy(&thread->lock);
}
