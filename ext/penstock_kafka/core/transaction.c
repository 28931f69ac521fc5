#include "transaction.h"

#include <stdlib.h>

#include "clock.h"
#include "thread.h"

#define PK_TXN_SLICE_MS 1000

pk_txn_call_t *pk_txn_call_new(pk_producer_t *producer, pk_txn_kind_t kind, int timeout_ms) {
  pk_txn_call_t *call = calloc(1, sizeof *call);

  if (!call) abort();
  atomic_init(&call->refs, 1);
  pthread_mutex_init(&call->lock, NULL);
  pk_cond_init(&call->changed);
  call->producer = producer;
  call->kind = kind;
  call->timeout_ms = timeout_ms;
  return call;
}

void pk_txn_call_unref(pk_txn_call_t *call) {
  if (atomic_fetch_sub(&call->refs, 1) != 1) return;
  if (call->offsets) rd_kafka_topic_partition_list_destroy(call->offsets);
  if (call->group) rd_kafka_consumer_group_metadata_destroy(call->group);
  if (call->error) rd_kafka_error_destroy(call->error);
  pthread_cond_destroy(&call->changed);
  pthread_mutex_destroy(&call->lock);
  free(call);
}

static int pk_txn_slice_ms(const pk_txn_call_t *call, int64_t deadline_ms) {
  int left_ms = pk_remaining_ms(deadline_ms);

  return call->kind != PK_TXN_OFFSETS && (left_ms < 0 || left_ms > PK_TXN_SLICE_MS) ? PK_TXN_SLICE_MS : left_ms;
}

static rd_kafka_error_t *pk_txn_slice(const pk_txn_call_t *call, int slice_ms) {
  rd_kafka_t *rk = call->producer->handle.rk;

  switch (call->kind) {
  case PK_TXN_INIT: return rd_kafka_init_transactions(rk, slice_ms);
  case PK_TXN_OFFSETS: return rd_kafka_send_offsets_to_transaction(rk, call->offsets, call->group, slice_ms);
  case PK_TXN_COMMIT: return rd_kafka_commit_transaction(rk, slice_ms);
  case PK_TXN_ABORT: break;
  }
  return rd_kafka_abort_transaction(rk, slice_ms);
}

/* Init tells what it waited for in place of "timed out": what took the whole slice
 * is one, whatever it is called. */
static bool pk_txn_goes_on(const pk_txn_call_t *call, const rd_kafka_error_t *error, int64_t slice_end_ms,
                           int64_t deadline_ms) {
  return error && rd_kafka_error_is_retriable(error) && call->kind != PK_TXN_OFFSETS &&
         pk_remaining_ms(slice_end_ms) == 0 && pk_remaining_ms(deadline_ms) > 0 &&
         pk_handle_state(&call->producer->handle) == PK_OPEN;
}

static rd_kafka_error_t *pk_txn_perform(const pk_txn_call_t *call) {
  int64_t deadline_ms = pk_deadline(call->timeout_ms);

  for (;;) {
    int slice_ms = pk_txn_slice_ms(call, deadline_ms);
    int64_t slice_end_ms = pk_deadline(slice_ms);
    rd_kafka_error_t *error = pk_txn_slice(call, slice_ms);

    if (!pk_txn_goes_on(call, error, slice_end_ms, deadline_ms)) return error;
    rd_kafka_error_destroy(error);
  }
}

/* The handle is left before the end is told: an asker that closes at once doesn't
 * wait for this thread. */
static void *pk_txn_main(void *ptr) {
  pk_txn_call_t *call = ptr;

  call->error = pk_txn_perform(call);
  pk_handle_leave(&call->producer->handle);
  pthread_mutex_lock(&call->lock);
  call->finished = true;
  pthread_cond_broadcast(&call->changed);
  pthread_mutex_unlock(&call->lock);
  pk_txn_call_unref(call);
  return NULL;
}

int pk_txn_call_start(pk_txn_call_t *call) {
  int result = pk_handle_enter(&call->producer->handle);

  if (result) return result;
  atomic_fetch_add(&call->refs, 1);
  result = pk_thread_detach("pk:transaction", pk_txn_main, call);
  if (!result) return 0;
  pk_handle_leave(&call->producer->handle);
  atomic_fetch_sub(&call->refs, 1);
  return result;
}

bool pk_txn_call_wait(pk_txn_call_t *call) {
  bool finished;

  pthread_mutex_lock(&call->lock);
  while (!call->finished && !call->interrupted) pthread_cond_wait(&call->changed, &call->lock);
  finished = call->finished;
  call->interrupted = false;
  pthread_mutex_unlock(&call->lock);
  return finished;
}

void pk_txn_call_interrupt(pk_txn_call_t *call) {
  pthread_mutex_lock(&call->lock);
  call->interrupted = true;
  pthread_cond_broadcast(&call->changed);
  pthread_mutex_unlock(&call->lock);
}

bool pk_txn_call_done(pk_txn_call_t *call) {
  bool finished;

  pthread_mutex_lock(&call->lock);
  finished = call->finished;
  pthread_mutex_unlock(&call->lock);
  return finished;
}

rd_kafka_error_t *pk_txn_begin(pk_producer_t *producer) {
  return rd_kafka_begin_transaction(producer->handle.rk);
}
