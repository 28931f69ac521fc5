/* Penstock::Native::Producer, the close: flushed until the deadline, purged,
 * every delivery resolved, destroyed. Safe to call twice, from several threads,
 * from at_exit and from a thread that a signal handler started; in a forked
 * child it does nothing. */
#include "rb_nogvl.h"
#include "rb_producing.h"

/* For producers found open during garbage collection, which has no time to end
 * them. */
static void reap(void *pointer) {
  pk_producer_t *producer = pointer;

  pk_handle_drain(&producer->handle);
  if (producer->handle.rk) pk_producer_finish(producer);
  pk_producer_free(producer);
}

void pk_rproducer_reap(pk_producer_t *core) {
  pk_reap(reap, core);
}

typedef struct {
  pk_rproducer_t *producer; /* NULL if the close doesn't wait for messages */
  pk_producer_t *core;
  int64_t deadline_ms;
  int result;
  bool flushed, drained;
} close_args;

static void *begin_close_safe(void *pointer) {
  close_args *args = pointer;

  args->result = pk_handle_begin_close(&args->core->handle, args->deadline_ms);
  return pointer;
}

static void *flush_slice_safe(void *pointer) {
  close_args *args = pointer;

  args->flushed = pk_producer_flush(args->core, args->deadline_ms);
  return pointer;
}

/* Interruptible between slices: the caller stops waiting, and the rest of the
 * close is still done. */
static VALUE close_flush(VALUE pointer) {
  close_args *args = (close_args *)pointer;

  args->producer->flushing = true;
  do {
    pk_without_gvl_noraise(flush_slice_safe, args);
    rb_thread_check_ints();
  } while (!args->flushed && pk_remaining_ms(args->deadline_ms) > 0);
  return Qnil;
}

static void *finish_safe(void *pointer) {
  close_args *args = pointer;

  args->result = pk_producer_finish(args->core);
  pk_handle_closed(&args->core->handle);
  return pointer;
}

static VALUE close_finish(VALUE pointer) {
  close_args *args = (close_args *)pointer;

  if (args->producer) args->producer->flushing = false;
  pk_without_gvl_noraise(finish_safe, args);
  pk_handle_unregister(&args->core->handle);
  return Qnil;
}

static void *late_finish(void *pointer) {
  pk_producer_t *core = pointer;

  pk_handle_drain(&core->handle);
  pk_producer_finish(core);
  pk_handle_closed(&core->handle);
  if (pk_producer_disown(core)) pk_producer_free(core);
  return NULL;
}

#define DRAIN_SLICE_MS 100

static void *drain_slice_safe(void *pointer) {
  close_args *args = pointer;

  args->drained = pk_handle_drain_until(&args->core->handle, pk_deadline(DRAIN_SLICE_MS));
  return pointer;
}

static VALUE drain_here(VALUE pointer) {
  close_args *args = (close_args *)pointer;

  while (!args->drained) {
    pk_without_gvl(drain_slice_safe, args, NULL, NULL);
    rb_thread_check_ints();
  }
  return Qnil;
}

/* Calls end by themselves, so an interrupt waits for that: an interrupted
 * caller considers the producer closed, and no other call would end it. */
static void finish_here(close_args *args) {
  int interrupted = 0, state;

  while (!args->drained && !pk_inherited(&args->core->handle)) {
    rb_protect(drain_here, (VALUE)args, &state);
    if (state) interrupted = state;
  }
  if (args->drained) close_finish((VALUE)args);
  if (interrupted) rb_jump_tag(interrupted);
}

/* Calls are still inside at the deadline: a thread of its own waits for them.
 * It also owns the core, since Ruby's object may be collected first. If no
 * thread can be created this one waits, or the deliveries would never be
 * resolved. */
static void finish_late(close_args *args) {
  pk_producer_t *core = args->core;

  atomic_fetch_add(&core->owners, 1);
  if (pk_thread_detach("pk:reaper", late_finish, core) == 0) {
    pk_handle_unregister(&core->handle);
    return;
  }
  pk_producer_disown(core);
  finish_here(args);
}

/* Waits for another thread's close in slices, so that it can be interrupted. */
static void await_other_close(close_args *args) {
  int64_t until_ms = args->deadline_ms;

  while (pk_handle_state(&args->core->handle) == PK_CLOSING) {
    args->deadline_ms = pk_deadline(100);
    if (args->deadline_ms > until_ms) args->deadline_ms = until_ms;
    pk_without_gvl_noraise(begin_close_safe, args);
    rb_thread_check_ints();
    if (pk_remaining_ms(until_ms) == 0) break;
  }
}

/* close(timeout_ms) → the number of deliveries whose outcome stays unknown.
 * Safe to call twice, from several threads, and in a forked child, where it
 * does nothing. */
static VALUE producer_close(VALUE self, VALUE timeout_ms) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  pk_producer_t *core = producer->core;
  close_args args = {.producer = producer, .core = core, .deadline_ms = pk_deadline(NIL_P(timeout_ms) ? -1 : NUM2LL(timeout_ms))};

  if (!core || core->generation != pk_fork_generation()) return INT2FIX(0);
  if (pk_handle_state(&core->handle) != PK_OPEN) {
    await_other_close(&args);
    return INT2FIX(0);
  }
  pk_producer_refuse(core);
  pk_without_gvl_noraise(begin_close_safe, &args);
  if (args.result == PK_CLOSE_DONE) return INT2FIX(0);
  if (args.result == PK_CLOSE_BUSY) {
    finish_late(&args);
    return ULL2NUM(pk_producer_pending(core));
  }
  rb_ensure(close_flush, (VALUE)&args, close_finish, (VALUE)&args);
  return INT2NUM(args.result);
}

/* close_idle → whether it is closed now: only if nothing is queued, in flight
 * or in progress in another thread. The check and the refusal are one step. */
static VALUE producer_close_idle(VALUE self) {
  pk_producer_t *core = pk_rproducer_get(self)->core;
  close_args args = {.core = core};

  if (!core || core->generation != pk_fork_generation() || !pk_producer_close_idle(core)) return Qfalse;
  close_finish((VALUE)&args);
  return Qtrue;
}

/* discard!: drops it, as a forked child does with its parent's. */
static VALUE producer_discard(VALUE self) {
  pk_producer_t *core = pk_rproducer_get(self)->core;

  if (!core) return Qnil;
  atomic_store(&core->accepting, false);
  pk_handle_unregister(&core->handle);
  pk_handle_discard(&core->handle);
  return Qnil;
}

void Init_pk_producer_close(VALUE cProducer) {
  rb_define_method(cProducer, "close", producer_close, 1);
  rb_define_method(cProducer, "close_idle", producer_close_idle, 0);
  rb_define_method(cProducer, "discard!", producer_discard, 0);
}
