/* Penstock::Native::Producer: transactions. One call at a time; each waits
 * without the GVL and can be interrupted. An interrupted call continues: the
 * same method called again waits for its end and returns its result, every
 * other one waits for its end first. So nothing begins while the end of a
 * commit is unknown. */
#include "core/transaction.h"
#include "rb_group_metadata.h"
#include "rb_nogvl.h"
#include "rb_producing.h"

#define WHAT "producer"

typedef struct {
  pk_rproducer_t *producer;
  pk_txn_call_t *call;
} awaiting_t;

static void *wait_safe(void *pointer) {
  pk_txn_wait(pointer);
  return pointer;
}

/* May run in a signal handler that interrupts wait_safe. */
static void wait_unblock(void *pointer) {
  pk_txn_wait_interrupt(pointer);
}

/* Not pk_without_gvl_async: an interrupt that comes first is handled in the
 * caller's loop, where nothing is open. */
static void wait_crossing(pk_txn_call_t *call) {
  pk_txn_wait_t wait;

  pk_txn_wait_open(&wait, call);
  rb_nogvl(wait_safe, &wait, wait_unblock, &wait, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
  pk_txn_wait_close(&wait);
}

static VALUE wait_body(VALUE pointer) {
  pk_txn_call_t *call = ((awaiting_t *)pointer)->call;

  while (!pk_txn_call_done(call)) {
    wait_crossing(call);
    rb_thread_check_ints();
  }
  return Qnil;
}

static VALUE wait_end(VALUE pointer) {
  ((awaiting_t *)pointer)->producer->txn_awaited = false;
  return Qnil;
}

/* Waits for the call in progress. An interrupted caller leaves it running. */
static void await_call(pk_rproducer_t *producer) {
  awaiting_t awaiting = {producer, producer->txn};

  producer->txn_awaited = true;
  rb_ensure(wait_body, (VALUE)&awaiting, wait_end, (VALUE)&awaiting);
}

/* The result of the call that has ended; the call is removed. */
static rd_kafka_error_t *take_answer(pk_rproducer_t *producer) {
  pk_txn_call_t *call = producer->txn;
  rd_kafka_error_t *error = call->error;

  call->error = NULL;
  producer->txn = NULL;
  pk_txn_call_unref(call);
  return error;
}

static void forget_answer(pk_rproducer_t *producer) {
  rd_kafka_error_t *error;

  await_call(producer);
  if ((error = take_answer(producer))) rd_kafka_error_destroy(error);
}

static pk_rproducer_t *enter(VALUE self) {
  pk_rproducer_t *producer = pk_rproducer_get(self);

  pk_rproducer_check(producer);
  if (producer->txn_awaited) pk_raise(RD_KAFKA_RESP_ERR__CONFLICT, "another thread is in a transaction call");
  return producer;
}

/* Takes over the caller's reference. */
static void start(pk_rproducer_t *producer, pk_txn_call_t *call) {
  pk_handle_t *handle = &producer->core->handle;
  int result = pk_txn_call_start(call);

  if (result == 0) {
    producer->txn = call;
    return;
  }
  pk_txn_call_unref(call);
  if (result == PK_E_FORKED || result == PK_E_CLOSED) pk_raise_entry(handle, WHAT, result);
  rb_syserr_fail(result, "can't create a thread of the driver");
}

static VALUE finish(pk_rproducer_t *producer) {
  rd_kafka_error_t *error;

  await_call(producer);
  if ((error = take_answer(producer))) pk_raise_error(error);
  return Qnil;
}

static int timeout_of(VALUE timeout_ms) {
  return NIL_P(timeout_ms) ? -1 : NUM2INT(timeout_ms);
}

/* Begins the call, or resumes the interrupted one of its kind. */
static VALUE perform(VALUE self, pk_txn_kind_t kind, VALUE timeout_ms) {
  pk_rproducer_t *producer = enter(self);
  int timeout = timeout_of(timeout_ms);

  if (producer->txn && producer->txn->kind != kind) forget_answer(producer);
  if (!producer->txn) start(producer, pk_txn_call_new(producer->core, kind, timeout));
  return finish(producer);
}

/* init_transactions(timeout_ms): fences earlier producers with the same
 * transactional id, and ends their open transactions. Before any other call. */
static VALUE producer_init_transactions(VALUE self, VALUE timeout_ms) {
  return perform(self, PK_TXN_INIT, timeout_ms);
}

/* commit_transaction(timeout_ms): waits for every report before it commits. */
static VALUE producer_commit_transaction(VALUE self, VALUE timeout_ms) {
  return perform(self, PK_TXN_COMMIT, timeout_ms);
}

/* abort_transaction(timeout_ms): queued messages are reported as purged. */
static VALUE producer_abort_transaction(VALUE self, VALUE timeout_ms) {
  return perform(self, PK_TXN_ABORT, timeout_ms);
}

/* send_offsets_to_transaction([[topic, partition, offset, metadata, epoch], …],
 * group, timeout_ms). Returns when the group's coordinator has them. */
static VALUE producer_send_offsets(VALUE self, VALUE offsets, VALUE group, VALUE timeout_ms) {
  pk_rproducer_t *producer = enter(self);
  int timeout = timeout_of(timeout_ms);
  rd_kafka_topic_partition_list_t *list;
  pk_txn_call_t *call;

  pk_group_metadata_check(group);
  if (producer->txn) forget_answer(producer);
  list = pk_list_from_values(offsets);
  call = pk_txn_call_new(producer->core, PK_TXN_OFFSETS, timeout);
  call->offsets = list;
  call->group = pk_group_metadata_copy(group);
  start(producer, call);
  return finish(producer);
}

typedef struct {
  pk_producer_t *core;
  rd_kafka_error_t *error;
} begin_args;

static void *begin_safe(void *pointer) {
  begin_args *args = pointer;

  args->error = pk_txn_begin(args->core);
  return pointer;
}

/* begin_transaction: sends no request. */
static VALUE producer_begin_transaction(VALUE self) {
  pk_rproducer_t *producer = enter(self);
  begin_args args = {.core = producer->core};

  if (producer->txn) forget_answer(producer);
  pk_enter(&args.core->handle, WHAT);
  pk_without_gvl_noraise(begin_safe, &args);
  pk_handle_leave(&args.core->handle);
  if (args.error) pk_raise_error(args.error);
  return Qnil;
}

/* transaction_call → :init, :offsets, :commit or :abort while a call is in
 * progress, or has ended after its caller was interrupted; else nil. */
static VALUE producer_transaction_call(VALUE self) {
  static const char *const names[] = {"init", "offsets", "commit", "abort"};
  pk_rproducer_t *producer = pk_rproducer_get(self);

  return producer->txn ? ID2SYM(rb_intern(names[producer->txn->kind])) : Qnil;
}

void Init_pk_producer_transactions(VALUE cProducer) {
  rb_define_method(cProducer, "init_transactions", producer_init_transactions, 1);
  rb_define_method(cProducer, "begin_transaction", producer_begin_transaction, 0);
  rb_define_method(cProducer, "send_offsets_to_transaction", producer_send_offsets, 3);
  rb_define_method(cProducer, "commit_transaction", producer_commit_transaction, 1);
  rb_define_method(cProducer, "abort_transaction", producer_abort_transaction, 1);
  rb_define_method(cProducer, "transaction_call", producer_transaction_call, 0);
}
