/* Penstock::Native::Producer, the part that tells one Ruby thread which of the
 * deliveries that fibers wait for are resolved. */
#include "nogvl.h"
#include "producing.h"
#include "turn.h"

#define NUMBERS_AT_ONCE 512

/* watch(delivery, number, urgent) → false when there is nothing to wait for. The
 * number comes out of take_watched, once, unless Delivery#unwatch is first. */
static VALUE producer_watch(VALUE self, VALUE delivery, VALUE number, VALUE urgent) {
  return pk_delivery_watch_by(delivery, number, RTEST(urgent));
}

typedef struct {
  pk_watched_t *watched;
  uint64_t numbers[NUMBERS_AT_ONCE];
  size_t count;
  int64_t deadline_ms;
  bool interrupted, wants_turn;
} take_args;

static void *take_safe(void *pointer) {
  take_args *args = pointer;

  args->count = pk_watched_take(args->watched, args->numbers, NUMBERS_AT_ONCE, args->deadline_ms, &args->interrupted);
  pk_turn_want();
  args->wants_turn = true;
  return pointer;
}

static void take_unblock(void *pointer) {
  take_args *args = pointer;

  pk_watched_interrupt(args->watched, &args->interrupted);
}

static pk_producer_t *core_of(VALUE self) {
  pk_rproducer_t *producer = pk_rproducer_get(self);

  if (!producer->core) pk_raise_closed("producer");
  return producer->core;
}

/* rouse_watched: take_watched returns, with a number 0. In a fork's child it raises:
 * the lock may have been held when it was copied. A producer that closes is roused
 * as ever, for its fibers still wait. */
static VALUE producer_rouse_watched(VALUE self) {
  pk_producer_t *core = core_of(self);

  if (core->generation != pk_fork_generation()) pk_rproducer_check(pk_rproducer_get(self));
  pk_watched_push(&core->watched, 0);
  return Qnil;
}

/* take_watched(timeout_ms) → Array of numbers, after a wait for the first; nil when
 * the client is closed and there will be none. nil waits for ever. */
static VALUE producer_take_watched(VALUE self, VALUE timeout_ms) {
  pk_producer_t *core = core_of(self);
  take_args args = {.watched = &core->watched, .deadline_ms = pk_deadline(NIL_P(timeout_ms) ? -1 : NUM2LL(timeout_ms))};
  VALUE numbers;

  if (core->generation != pk_fork_generation()) return Qnil;
  pk_turn_expect(); /* the fibers of the numbers before were told */
  rb_thread_call_without_gvl2(take_safe, &args, take_unblock, &args);
  if (args.wants_turn) pk_turn_taken();
  numbers = rb_ary_new_capa((long)args.count);
  for (size_t i = 0; i < args.count; i++) rb_ary_push(numbers, ULL2NUM(args.numbers[i]));
  if (args.count == 0) rb_thread_check_ints();
  return args.count == 0 && pk_watched_ended(&core->watched) ? Qnil : numbers;
}

void Init_pk_producer_watched(VALUE cProducer) {
  rb_define_method(cProducer, "watch", producer_watch, 3);
  rb_define_method(cProducer, "take_watched", producer_take_watched, 1);
  rb_define_method(cProducer, "rouse_watched", producer_rouse_watched, 0);
}
