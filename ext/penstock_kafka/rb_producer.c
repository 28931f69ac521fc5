/* Penstock::Native::Producer: opening it, its state, and its waits. Any thread
 * may call any method. Messages are accepted in produce.c and produce_many.c,
 * reports are taken in producer_reports.c, the close is in producer_close.c. */
#include <stdlib.h>
#include <string.h>

#include "rb_error.h"
#include "rb_nogvl.h"
#include "rb_producing.h"

#define WHAT "producer"

/* -- the object ------------------------------------------------------------- */

static void producer_mark(void *pointer) {
  pk_rproducer_t *producer = pointer;

  rb_gc_mark(producer->delivery_class);
  rb_gc_mark(producer->topics);
  rb_gc_mark(producer->names);
  rb_gc_mark(producer->labels);
  rb_gc_mark(producer->reporter);
}

/* A parent's producer is left as it is; the reaper ends one that was left open,
 * since that may take a second and the garbage collector can't wait. */
static void producer_free(void *pointer) {
  pk_rproducer_t *producer = pointer;
  pk_producer_t *core = producer->core;
  pk_txn_call_t *txn = producer->txn;

  xfree(producer);
  if (!core || core->generation != pk_fork_generation() || pk_inherited(&core->handle)) return;
  if (txn) pk_txn_call_unref(txn);
  pk_handle_unregister(&core->handle);
  if (!pk_producer_disown(core)) return;
  if (core->handle.rk) {
    pk_rproducer_reap(core);
  } else {
    pk_producer_free(core);
  }
}

static size_t producer_size(const void *pointer) {
  const pk_rproducer_t *producer = pointer;

  return sizeof *producer + (producer->core ? sizeof *producer->core : 0);
}

static const rb_data_type_t producer_type = {
    .wrap_struct_name = "Penstock::Native::Producer",
    .function = {.dmark = producer_mark, .dfree = producer_free, .dsize = producer_size},
};

static VALUE producer_alloc(VALUE klass) {
  pk_rproducer_t *producer;
  VALUE self = TypedData_Make_Struct(klass, pk_rproducer_t, &producer_type, producer);

  producer->delivery_class = producer->reporter = Qnil;
  producer->topics = rb_hash_new();
  producer->names = rb_ary_new();
  producer->labels = rb_hash_new();
  return self;
}

pk_rproducer_t *pk_rproducer_get(VALUE self) {
  return rb_check_typeddata(self, &producer_type);
}

void pk_rproducer_check(const pk_rproducer_t *producer) {
  if (!producer->core) pk_raise_closed(WHAT);
  if (producer->core->generation != pk_fork_generation()) pk_handle_discard(&producer->core->handle);
  pk_enter(&producer->core->handle, WHAT);
  pk_handle_leave(&producer->core->handle);
}

static pk_producer_t *core_of(VALUE self) {
  pk_rproducer_t *producer = pk_rproducer_get(self);

  if (!producer->core) pk_raise_closed(WHAT);
  return producer->core;
}

VALUE pk_label_take(pk_rproducer_t *producer, uint64_t number) {
  return number ? rb_hash_delete(producer->labels, ULL2NUM(number)) : Qnil;
}

/* -- open ------------------------------------------------------------------- */

typedef struct {
  pk_producer_t *core;
  rd_kafka_conf_t *conf;
  bool tokens;
  rd_kafka_resp_err_t err;
  char error[512];
} open_args;

static void *open_safe(void *pointer) {
  open_args *args = pointer;

  args->err = pk_producer_open(args->core, args->conf, args->tokens, args->error, sizeof args->error);
  return pointer;
}

static pk_producer_t *new_core(void) {
  pk_producer_t *core = calloc(1, sizeof *core);

  if (!core) rb_memerror();
  pk_producer_init(core);
  return core;
}

/* connect(conf, delivery_class, max_payload_bytes, tokens): private, called by
 * initialize. */
static VALUE producer_open(VALUE self, VALUE conf, VALUE delivery_class, VALUE max_payload_bytes, VALUE tokens) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  open_args args = {.tokens = RTEST(tokens)};

  if (producer->core) rb_raise(rb_eRuntimeError, "the producer is already open");
  Check_Type(delivery_class, T_CLASS);
  producer->max_payload_bytes = NUM2SIZET(max_payload_bytes);
  producer->delivery_class = delivery_class;
  args.conf = pk_conf_from_hash(conf, NULL);
  args.core = new_core();
  pk_without_gvl_noraise(open_safe, &args);
  if (args.err) {
    pk_producer_free(args.core);
    pk_raise(args.err, args.error);
  }
  producer->core = args.core;
  pk_handle_register(&args.core->handle);
  return self;
}

/* -- state ------------------------------------------------------------------ */

static VALUE producer_closed_p(VALUE self) {
  return pk_rproducer_usable(pk_rproducer_get(self)) ? Qfalse : Qtrue;
}

static VALUE producer_state(VALUE self) {
  return pk_state_symbol(&core_of(self)->handle);
}

static VALUE producer_pid(VALUE self) {
  return INT2NUM((int)core_of(self)->handle.pid);
}

/* -- calls into an open client ----------------------------------------------
 * They leave without the GVL. If a call needed it to leave, a close that holds
 * it would wait, as happens when a signal comes just before the GVL is
 * released. */

typedef struct {
  pk_producer_t *core;
  int64_t deadline_ms;
  bool done;
  rd_kafka_resp_err_t err;
} call_args;

static void *flush_safe(void *pointer) {
  call_args *args = pointer;

  args->done = pk_producer_flush(args->core, args->deadline_ms);
  pk_handle_leave(&args->core->handle);
  return pointer;
}

/* flush(timeout_ms) → whether everything was reported; nil waits without a
 * limit. */
static VALUE producer_flush(VALUE self, VALUE timeout_ms) {
  call_args args = {.core = core_of(self), .deadline_ms = pk_deadline(NIL_P(timeout_ms) ? -1 : NUM2LL(timeout_ms))};

  do {
    pk_enter(&args.core->handle, WHAT);
    pk_without_gvl_noraise(flush_safe, &args);
    rb_thread_check_ints();
  } while (!args.done && pk_remaining_ms(args.deadline_ms) > 0);
  return args.done ? Qtrue : Qfalse;
}

static void *purge_safe(void *pointer) {
  call_args *args = pointer;

  args->err = pk_producer_purge(args->core);
  pk_handle_leave(&args->core->handle);
  return pointer;
}

/* purge: everything queued or in flight will be reported as purged. */
static VALUE producer_purge(VALUE self) {
  call_args args = {.core = core_of(self)};

  pk_enter(&args.core->handle, WHAT);
  pk_without_gvl_noraise(purge_safe, &args);
  if (args.err) pk_raise(args.err, NULL);
  return Qnil;
}

/* sync_wait(delivery, timeout_ms): like Delivery#await, but queued messages are
 * sent at once. */
static VALUE producer_sync_wait(VALUE self, VALUE delivery, VALUE timeout_ms) {
  return pk_delivery_await(delivery, timeout_ms, true);
}

typedef struct {
  pk_producer_t *core;
  uint64_t ticket;
  int64_t deadline_ms;
  bool interrupted, room;
} room_args;

static void *room_safe(void *pointer) {
  room_args *args = pointer;

  args->room = pk_producer_await_room(args->core, args->ticket, args->deadline_ms, &args->interrupted);
  pk_handle_leave(&args->core->handle);
  return pointer;
}

static void room_unblock(void *pointer) {
  room_args *args = pointer;

  pk_producer_interrupt_room(args->core, &args->interrupted);
}

/* ticket: taken before trying, passed to wait_for_room if the queue was full. */
static VALUE producer_ticket(VALUE self) {
  pk_rproducer_check(pk_rproducer_get(self));
  return ULL2NUM(pk_producer_ticket(core_of(self)));
}

/* wait_for_room(ticket, timeout_ms) → whether messages left since the ticket. */
static VALUE producer_wait_for_room(VALUE self, VALUE ticket, VALUE timeout_ms) {
  room_args args = {.core = core_of(self), .ticket = NUM2ULL(ticket), .deadline_ms = pk_deadline(NUM2LL(timeout_ms))};

  do {
    args.interrupted = false;
    pk_enter(&args.core->handle, WHAT);
    if (!rb_thread_call_without_gvl2(room_safe, &args, room_unblock, &args)) pk_handle_leave(&args.core->handle);
    rb_thread_check_ints();
  } while (!args.room && pk_remaining_ms(args.deadline_ms) > 0);
  return args.room ? Qtrue : Qfalse;
}

/* queue_size: messages queued, in flight, or with a report not yet processed. */
static VALUE producer_queue_size(VALUE self) {
  pk_rproducer_check(pk_rproducer_get(self));
  return ULL2NUM(pk_producer_pending(core_of(self)));
}

/* counts → [delivered, failed] since it was opened. */
static VALUE producer_counts(VALUE self) {
  pk_producer_t *core = core_of(self);

  return rb_assoc_new(ULL2NUM(atomic_load(&core->delivered)), ULL2NUM(atomic_load(&core->failed)));
}

/* accepted → number of messages accepted since it was opened. */
static VALUE producer_accepted(VALUE self) {
  return ULL2NUM(atomic_load(&core_of(self)->accepted));
}

static VALUE producer_name(VALUE self) {
  pk_producer_t *core = core_of(self);
  VALUE name;

  pk_enter(&core->handle, WHAT);
  name = pk_utf8_frozen(rd_kafka_name(core->handle.rk));
  pk_handle_leave(&core->handle);
  return name;
}

typedef struct {
  pk_producer_t *core;
  pk_topic_t *topic;
  int timeout_ms, count;
  rd_kafka_resp_err_t err;
} partitions_args;

static void count_partitions(partitions_args *args) {
  const struct rd_kafka_metadata *metadata;

  args->err = rd_kafka_metadata(args->core->handle.rk, 0, args->topic->rkt, &metadata, args->timeout_ms);
  if (args->err) return;
  if (metadata->topic_cnt == 1 && !(args->err = metadata->topics[0].err)) {
    args->count = metadata->topics[0].partition_cnt;
  }
  rd_kafka_metadata_destroy(metadata);
}

static void *partitions_safe(void *pointer) {
  partitions_args *args = pointer;

  count_partitions(args);
  pk_handle_leave(&args->core->handle);
  return pointer;
}

/* query_partitions(topic, timeout_ms) → the number of partitions, queried from
 * the cluster. Not interruptible: Ruby calls it on a thread of its own. */
static VALUE producer_query_partitions(VALUE self, VALUE topic, VALUE timeout_ms) {
  partitions_args args = {.core = core_of(self), .timeout_ms = NUM2INT(timeout_ms)};

  if (!(args.topic = pk_producer_topic_named(args.core, StringValueCStr(topic)))) {
    rb_raise(rb_eArgError, "the topic isn't open");
  }
  pk_enter(&args.core->handle, WHAT);
  pk_without_gvl_noraise(partitions_safe, &args);
  if (args.err) pk_raise(args.err, NULL);
  return INT2NUM(args.count);
}

/* fatal_error → [number, message] or nil. */
static VALUE producer_fatal_error(VALUE self) {
  pk_producer_t *core = core_of(self);
  char message[512];
  rd_kafka_resp_err_t err;

  pk_enter(&core->handle, WHAT);
  err = rd_kafka_fatal_error(core->handle.rk, message, sizeof message);
  pk_handle_leave(&core->handle);
  return err ? rb_assoc_new(INT2NUM(err), pk_utf8(message)) : Qnil;
}

/* inject_fatal_error(number, reason): for tests of fatal errors. */
static VALUE producer_inject_fatal_error(VALUE self, VALUE number, VALUE reason) {
  pk_producer_t *core = core_of(self);
  int err = NUM2INT(number);
  const char *text = StringValueCStr(reason);

  pk_enter(&core->handle, WHAT);
  rd_kafka_test_fatal_error(core->handle.rk, err, text);
  pk_handle_leave(&core->handle);
  return Qnil;
}

static void define_life(VALUE cProducer) {
  rb_define_alloc_func(cProducer, producer_alloc);
  rb_define_private_method(cProducer, "connect", producer_open, 4);
  rb_define_method(cProducer, "closed?", producer_closed_p, 0);
  rb_define_method(cProducer, "state", producer_state, 0);
  rb_define_method(cProducer, "pid", producer_pid, 0);
  rb_define_method(cProducer, "name", producer_name, 0);
}

void Init_pk_producer(VALUE mNative) {
  VALUE cProducer = rb_define_class_under(mNative, "Producer", rb_cObject);

  define_life(cProducer);
  rb_define_method(cProducer, "flush", producer_flush, 1);
  rb_define_method(cProducer, "purge", producer_purge, 0);
  rb_define_method(cProducer, "sync_wait", producer_sync_wait, 2);
  rb_define_method(cProducer, "ticket", producer_ticket, 0);
  rb_define_method(cProducer, "wait_for_room", producer_wait_for_room, 2);
  rb_define_method(cProducer, "queue_size", producer_queue_size, 0);
  rb_define_method(cProducer, "query_partitions", producer_query_partitions, 2);
  rb_define_method(cProducer, "counts", producer_counts, 0);
  rb_define_method(cProducer, "accepted", producer_accepted, 0);
  rb_define_method(cProducer, "fatal_error", producer_fatal_error, 0);
  rb_define_method(cProducer, "inject_fatal_error", producer_inject_fatal_error, 2);
  Init_pk_produce(cProducer);
  Init_pk_produce_many(cProducer);
  Init_pk_producer_close(cProducer);
  Init_pk_producer_reports(cProducer);
  Init_pk_producer_undelivered(cProducer);
  Init_pk_producer_transactions(cProducer);
}
