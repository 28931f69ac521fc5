/* Penstock::Native::Delivery: the outcome of one message, which threads can
 * wait for. The object is the native delivery itself: the garbage collector
 * drops Ruby's reference, librdkafka's keeps the memory until the report. It
 * keeps its producer alive, whose stripes it waits on. Any thread may wait,
 * also several. */
#include <stdlib.h>

#include "rb_error.h"
#include "rb_producing.h"
#include "rb_gvl_yield.h"

enum { SLOT_PRODUCER, SLOT_LABEL, SLOT_MEMO, SLOTS };

static VALUE slot(const pk_delivery_t *delivery, int index) {
  return (VALUE)delivery->binding[index];
}

static void delivery_mark(void *pointer) {
  pk_delivery_t *delivery = pointer;

  for (int i = 0; i < SLOTS; i++) rb_gc_mark(slot(delivery, i));
}

/* Takes no lock and doesn't call librdkafka, also in a forked child: it may run
 * at any time during garbage collection. */
static void delivery_free(void *pointer) {
  pk_delivery_release(pointer);
}

static size_t delivery_size(const void *pointer) {
  return pointer ? sizeof(pk_delivery_t) : 0;
}

static const rb_data_type_t delivery_type = {
    .wrap_struct_name = "Penstock::Native::Delivery",
    .function = {.dmark = delivery_mark, .dfree = delivery_free, .dsize = delivery_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static pk_delivery_t *delivery_get(VALUE self) {
  return rb_check_typeddata(self, &delivery_type);
}

VALUE pk_delivery_new(VALUE self, pk_topic_t *topic, VALUE label, pk_delivery_t **core) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  VALUE object = TypedData_Wrap_Struct(producer->delivery_class, &delivery_type, NULL);
  pk_delivery_t *delivery = calloc(1, sizeof *delivery);

  if (!delivery) rb_memerror();
  pk_delivery_init(delivery, pk_producer_stripe(producer->core), topic);
  DATA_PTR(object) = *core = delivery;
  delivery->binding[SLOT_PRODUCER] = (void *)self;
  delivery->binding[SLOT_LABEL] = (void *)label;
  delivery->binding[SLOT_MEMO] = (void *)Qnil;
  RB_OBJ_WRITTEN(object, Qundef, self);
  RB_OBJ_WRITTEN(object, Qundef, label);
  return object;
}

static pk_rproducer_t *delivery_producer(const pk_delivery_t *delivery) {
  return pk_rproducer_get(slot(delivery, SLOT_PRODUCER));
}

/* -- waiting ---------------------------------------------------------------- */

typedef struct {
  pk_delivery_wait_t wait;
  pk_producer_t *urgent; /* NULL: the wait may take as long as linger */
  bool wants_turn;       /* see turn.h */
} wait_args;

static void *wait_safe(void *pointer) {
  wait_args *args = pointer;

  if (args->urgent) pk_producer_flush_lone(args->urgent);
  pk_delivery_wait(&args->wait);
  pk_gvl_want();
  args->wants_turn = true;
  return pointer;
}

/* May run in a signal handler that interrupts wait_safe. */
static void wait_unblock(void *pointer) {
  pk_delivery_interrupt(&((wait_args *)pointer)->wait);
}

/* Not pk_without_gvl_async: an interrupt that comes first is handled in the
 * caller's loop, where nothing is open. */
static void wait_crossing(wait_args *args) {
  args->wants_turn = false;
  pk_delivery_wait_open(&args->wait);
  rb_nogvl(wait_safe, args, wait_unblock, args, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
  if (args->wants_turn) pk_gvl_taken();
  pk_delivery_wait_close(&args->wait);
}

/* A timeout below 0 has already passed. */
static int64_t deadline_of(VALUE timeout_ms) {
  int64_t limit_ms = NIL_P(timeout_ms) ? 0 : NUM2LL(timeout_ms);

  return NIL_P(timeout_ms) ? PK_NO_DEADLINE : pk_deadline(limit_ms > 0 ? limit_ms : 0);
}

/* A child never gets the reports of its parent's producer. */
static void check_process(const pk_delivery_t *delivery) {
  pk_rproducer_t *producer = delivery_producer(delivery);

  if (producer->core->generation != pk_fork_generation()) pk_rproducer_check(producer);
}

VALUE pk_delivery_await(VALUE self, VALUE timeout_ms, bool urgent) {
  pk_delivery_t *delivery = delivery_get(self);
  pk_producer_t *producer = delivery_producer(delivery)->core;
  wait_args args = {.wait = {.delivery = delivery, .deadline_ms = deadline_of(timeout_ms)}};

  if (urgent && producer->lingers) {
    args.urgent = producer;
    args.wait.urgency = &producer->flush.urgency;
  }
  while (pk_delivery_fate(delivery) == PK_PENDING) {
    check_process(delivery);
    wait_crossing(&args);
    rb_thread_check_ints();
    if (pk_remaining_ms(args.wait.deadline_ms) == 0) break;
  }
  RB_GC_GUARD(self);
  return pk_delivery_fate(delivery) == PK_PENDING ? Qfalse : Qtrue;
}

/* delivery.wait(timeout_ms) → true if the outcome is known; nil waits without a
 * limit. A message already queued may still wait for linger: see
 * Producer#sync_wait. */
static VALUE delivery_wait(VALUE self, VALUE timeout_ms) {
  return pk_delivery_await(self, timeout_ms, false);
}

/* False if there is nothing to wait for. */
VALUE pk_delivery_watch_by(VALUE self, pk_completions_t *watched, uint64_t number, VALUE timeout_ms, bool urgent) {
  pk_delivery_t *delivery = delivery_get(self);
  int64_t deadline_ms = deadline_of(timeout_ms);

  check_process(delivery);
  return pk_producer_watch(delivery_producer(delivery)->core, delivery, watched, number, deadline_ms, urgent) ? Qtrue
                                                                                                               : Qfalse;
}

void pk_delivery_unwatch_by(VALUE self, const pk_completions_t *watched, uint64_t number) {
  pk_delivery_t *delivery = delivery_get(self);

  if (delivery_producer(delivery)->core->generation != pk_fork_generation()) return;
  pk_delivery_unwatch(delivery, watched, number);
}

/* client → the Native::Producer to which it was passed. */
static VALUE delivery_client(VALUE self) {
  return slot(delivery_get(self), SLOT_PRODUCER);
}

/* -- attributes -- ---------------------------------------------------------- */

static VALUE delivery_done_p(VALUE self) {
  return pk_delivery_fate(delivery_get(self)) == PK_PENDING ? Qfalse : Qtrue;
}

/* True if the producer was closed before the report: the message may or may not
 * have arrived. */
static VALUE delivery_unknown_p(VALUE self) {
  return pk_delivery_fate(delivery_get(self)) == PK_UNKNOWN ? Qtrue : Qfalse;
}

static bool pending(const pk_delivery_t *delivery) {
  return pk_delivery_fate(delivery) == PK_PENDING;
}

static VALUE delivery_number(VALUE self) {
  pk_delivery_t *delivery = delivery_get(self);

  return pending(delivery) ? Qnil : INT2NUM(delivery->err);
}

/* error → KafkaError, or nil while pending and if it was delivered. */
static VALUE delivery_error(VALUE self) {
  pk_delivery_t *delivery = delivery_get(self);

  return pending(delivery) || !delivery->err ? Qnil : pk_exception(delivery->err, NULL);
}

/* Delivery.error_for(number) → KafkaError, nil for 0. */
static VALUE delivery_error_for(VALUE klass, VALUE number) {
  int err = NUM2INT(number);

  return err ? pk_exception(err, NULL) : Qnil;
}

static VALUE delivery_partition(VALUE self) {
  pk_delivery_t *delivery = delivery_get(self);

  return pending(delivery) ? Qnil : INT2NUM(delivery->partition);
}

static VALUE delivery_offset(VALUE self) {
  pk_delivery_t *delivery = delivery_get(self);

  return pending(delivery) ? Qnil : LL2NUM(delivery->offset);
}

static VALUE delivery_timestamp(VALUE self) {
  pk_delivery_t *delivery = delivery_get(self);

  return pending(delivery) ? Qnil : LL2NUM(delivery->timestamp_ms);
}

VALUE pk_persisted_symbol(rd_kafka_msg_status_t status) {
  if (status == RD_KAFKA_MSG_STATUS_PERSISTED) return ID2SYM(rb_intern("persisted"));
  if (status == RD_KAFKA_MSG_STATUS_NOT_PERSISTED) return ID2SYM(rb_intern("not"));
  return ID2SYM(rb_intern("possibly"));
}

/* :not, :possibly or :persisted. */
static VALUE delivery_persisted(VALUE self) {
  pk_delivery_t *delivery = delivery_get(self);

  return pending(delivery) ? ID2SYM(rb_intern("possibly")) : pk_persisted_symbol(delivery->persisted);
}

static VALUE topic_name(const pk_delivery_t *delivery) {
  return rb_ary_entry(delivery_producer(delivery)->names, (long)delivery->topic->index);
}

/* row → [label, number, topic, partition, offset, timestamp_ms, persisted], as
 * in Producer#take_reports; nil while pending. */
static VALUE delivery_row(VALUE self) {
  pk_delivery_t *delivery = delivery_get(self);

  if (pending(delivery)) return Qnil;
  return rb_ary_new_from_args(7, slot(delivery, SLOT_LABEL), INT2NUM(delivery->err), topic_name(delivery),
                              INT2NUM(delivery->partition), LL2NUM(delivery->offset), LL2NUM(delivery->timestamp_ms),
                              pk_persisted_symbol(delivery->persisted));
}

static VALUE delivery_topic(VALUE self) {
  return topic_name(delivery_get(self));
}

static VALUE delivery_label(VALUE self) {
  return slot(delivery_get(self), SLOT_LABEL);
}

/* memo, memo = object: a place for the Ruby report; an instance variable would
 * be stored in a table that all objects share. */
static VALUE delivery_memo(VALUE self) {
  return slot(delivery_get(self), SLOT_MEMO);
}

static VALUE delivery_set_memo(VALUE self, VALUE object) {
  delivery_get(self)->binding[SLOT_MEMO] = (void *)object;
  RB_OBJ_WRITTEN(self, Qundef, object);
  return object;
}

void Init_pk_delivery(VALUE mNative) {
  VALUE cDelivery = rb_define_class_under(mNative, "Delivery", rb_cObject);

  rb_undef_alloc_func(cDelivery);
  rb_define_method(cDelivery, "await", delivery_wait, 1);
  rb_define_method(cDelivery, "client", delivery_client, 0);
  rb_define_method(cDelivery, "done?", delivery_done_p, 0);
  rb_define_method(cDelivery, "unknown?", delivery_unknown_p, 0);
  rb_define_singleton_method(cDelivery, "error_for", delivery_error_for, 1);
  rb_define_method(cDelivery, "error", delivery_error, 0);
  rb_define_method(cDelivery, "number", delivery_number, 0);
  rb_define_method(cDelivery, "partition", delivery_partition, 0);
  rb_define_method(cDelivery, "offset", delivery_offset, 0);
  rb_define_method(cDelivery, "timestamp", delivery_timestamp, 0);
  rb_define_method(cDelivery, "persisted", delivery_persisted, 0);
  rb_define_method(cDelivery, "topic", delivery_topic, 0);
  rb_define_method(cDelivery, "row", delivery_row, 0);
  rb_define_method(cDelivery, "memo", delivery_memo, 0);
  rb_define_method(cDelivery, "memo=", delivery_set_memo, 1);
  rb_define_method(cDelivery, "label", delivery_label, 0);
}
