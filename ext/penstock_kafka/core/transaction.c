#include "transaction.h"

#include <stdlib.h>

#include "clock.h"

#define PK_TXN_SLICE_MS 1000

enum { PK_FLAG_FINISHED = 1, PK_FLAG_INTERRUPTED = 2 };

pk_txn_call_t *pk_txn_call_new(pk_producer_t *producer, pk_txn_kind_t kind, int timeout_ms) {
  pk_txn_call_t *call = calloc(1, sizeof *call);

  if (!call) abort();
  atomic_init(&call->refs, 1);
  atomic_init(&call->finished, false);
  pthread_mutex_init(&call->lock, NULL);
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

/* Init returns an error for its current step instead of "timed out": an error
 * after the whole slice is a timeout, regardless of its code. */
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

/* The flags are on the caller's stack, which is valid as long as they are listed. */
static void pk_txn_finish(pk_txn_call_t *call) {
  pthread_mutex_lock(&call->lock);
  atomic_store(&call->finished, true);
  if (call->sleeper) pk_event_flags_set(call->sleeper, PK_FLAG_FINISHED);
  call->sleeper = NULL;
  pthread_mutex_unlock(&call->lock);
}

/* The handle is left before the end is published: a caller that closes at once
 * doesn't wait for this thread. */
void pk_txn_call_make(pk_txn_call_t *call) {
  call->error = pk_txn_perform(call);
  pk_handle_leave(&call->producer->handle);
  pk_txn_finish(call);
  pk_txn_call_unref(call);
}

int pk_txn_call_start(pk_txn_call_t *call) {
  int result = pk_handle_enter(&call->producer->handle);

  if (result) return result;
  atomic_fetch_add(&call->refs, 1);
  result = pk_txn_thread_give(&call->producer->transactions, call);
  if (!result) return 0;
  pk_handle_leave(&call->producer->handle);
  atomic_fetch_sub(&call->refs, 1);
  return result;
}

void pk_txn_wait_open(pk_txn_wait_t *wait, pk_txn_call_t *call) {
  wait->call = call;
  pk_event_flags_open(&wait->flags);
}

void pk_txn_wait_close(pk_txn_wait_t *wait) {
  pk_event_flags_close(&wait->flags);
}

/* The flags are listed while there is something to wait for. */
static bool pk_txn_list(pk_txn_call_t *call, pk_event_flags_t *flags) {
  bool finished;

  pthread_mutex_lock(&call->lock);
  finished = pk_txn_call_done(call);
  if (!finished) call->sleeper = flags;
  pthread_mutex_unlock(&call->lock);
  return !finished;
}

static void pk_txn_unlist(pk_txn_call_t *call) {
  pthread_mutex_lock(&call->lock);
  call->sleeper = NULL;
  pthread_mutex_unlock(&call->lock);
}

bool pk_txn_wait(pk_txn_wait_t *wait) {
  if (!pk_txn_list(wait->call, &wait->flags)) return true;
  if (pk_event_flags_wait(&wait->flags, PK_NO_DEADLINE) & PK_FLAG_FINISHED) return true;
  pk_txn_unlist(wait->call);
  return pk_txn_call_done(wait->call);
}

void pk_txn_wait_interrupt(pk_txn_wait_t *wait) {
  pk_event_flags_set(&wait->flags, PK_FLAG_INTERRUPTED);
}

rd_kafka_error_t *pk_txn_begin(pk_producer_t *producer) {
  return rd_kafka_begin_transaction(producer->handle.rk);
}
