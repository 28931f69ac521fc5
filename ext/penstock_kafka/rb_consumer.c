/* Penstock::Native::Consumer: a member of a group. One thread, the poll loop,
 * calls it; any thread may call wakeup, the cached values and the queries.
 * Calls that wait, or use librdkafka's main thread, run without the GVL; they
 * enter and leave the handle inside, so that nothing raises while a call is
 * counted. */
#include "rb_binding.h"
#include "rb_nogvl.h"

static const char *const what = "consumer";
static VALUE eInternal;

/* ---- memory ---- */

static void consumer_free(void *ptr) {
  pk_rb_consumer_t *consumer = ptr;

  if (consumer->core) {
    pk_handle_unregister(&consumer->core->handle);
    pk_consumer_abandon(consumer->core);
  }
  xfree(consumer);
}

static size_t consumer_size(const void *ptr) {
  const pk_rb_consumer_t *consumer = ptr;

  return sizeof *consumer + (consumer->core ? sizeof *consumer->core : 0);
}

const rb_data_type_t pk_consumer_type = {
    .wrap_struct_name = "Penstock::Native::Consumer",
    .function = {.dfree = consumer_free, .dsize = consumer_size},
    .flags = RUBY_TYPED_WB_PROTECTED,
};

static VALUE consumer_alloc(VALUE klass) {
  pk_rb_consumer_t *consumer;

  return TypedData_Make_Struct(klass, pk_rb_consumer_t, &pk_consumer_type, consumer);
}

pk_consumer_t *pk_consumer_of(VALUE self) {
  pk_rb_consumer_t *consumer = rb_check_typeddata(self, &pk_consumer_type);

  if (!consumer->core) pk_raise_closed(what);
  return consumer->core;
}

void pk_loop_check(int result, pk_consumer_t *consumer) {
  if (result == 0) return;
  if (result == PK_E_BUSY) {
    rb_raise(eInternal, "two threads use this consumer: only its poll loop may call this");
  }
  if (result == PK_E_FORKED || result == PK_E_CLOSED) pk_raise_entry(&consumer->handle, what, result);
  rb_syserr_fail(result, "can't create a thread of the driver");
}

VALUE pk_failure_value(const pk_failure_t *failure) {
  return failure->number ? rb_ary_new_from_args(2, INT2NUM(failure->number), pk_utf8(failure->text)) : Qnil;
}

/* ---- opening ---- */

/* Doesn't connect yet. Private: Consumer.new calls it. */
static VALUE consumer_open(VALUE self, VALUE hash) {
  pk_rb_consumer_t *consumer = rb_check_typeddata(self, &pk_consumer_type);
  pk_failure_t failure = {0};
  VALUE error = Qnil;
  rd_kafka_conf_t *conf;

  if (consumer->core) rb_raise(eInternal, "the consumer is already open");
  conf = pk_conf_from_hash(hash, &error);
  if (!conf) rb_exc_raise(error);
  consumer->core = pk_consumer_new(conf, &failure);
  if (!consumer->core) pk_raise(failure.number, failure.text);
  pk_handle_register(&consumer->core->handle);
  return self;
}

static VALUE consumer_name(VALUE self) {
  pk_consumer_t *core = pk_consumer_of(self);
  VALUE name;

  pk_enter(&core->handle, what);
  name = pk_utf8(rd_kafka_name(core->handle.rk));
  pk_handle_leave(&core->handle);
  return name;
}

static VALUE consumer_pid(VALUE self) {
  return INT2NUM(pk_consumer_of(self)->handle.pid);
}

static VALUE consumer_state(VALUE self) {
  pk_consumer_t *core = pk_consumer_of(self);

  if (core->close_begun && pk_handle_state(&core->handle) == PK_OPEN) return ID2SYM(rb_intern("closing"));
  return pk_state_symbol(&core->handle);
}

static VALUE consumer_closed_p(VALUE self) {
  pk_consumer_t *core = pk_consumer_of(self);

  return pk_handle_state(&core->handle) == PK_OPEN && !pk_inherited(&core->handle) ? Qfalse : Qtrue;
}

/* ---- waiting ---- */

typedef struct {
  pk_consumer_t *core;
  int timeout_ms;
  int entered;
  bool woken;
} wait_args_t;

static void *wait_safe(void *ptr) {
  wait_args_t *args = ptr;

  args->entered = pk_handle_enter(&args->core->handle);
  if (args->entered) return args;
  args->woken = pk_consumer_wait(args->core, args->timeout_ms);
  pk_handle_leave(&args->core->handle);
  return args;
}

static void wait_unblock(void *ptr) {
  pk_wake_signal(&((wait_args_t *)ptr)->core->wake);
}

/* A timeout of 0 doesn't release the GVL. */
static VALUE consumer_wait(VALUE self, VALUE timeout_ms) {
  wait_args_t args = {.core = pk_consumer_of(self), .timeout_ms = NUM2INT(timeout_ms)};

  if (args.timeout_ms == 0) {
    wait_safe(&args);
  } else {
    pk_without_gvl_async(wait_safe, &args, wait_unblock, &args);
    rb_thread_check_ints();
  }
  pk_loop_check(args.entered, args.core);
  return args.woken ? Qtrue : Qfalse;
}

/* Any thread, also a signal handler: never blocks, takes no locks. */
static VALUE consumer_wakeup(VALUE self) {
  pk_consumer_t *core = pk_consumer_of(self);

  if (!pk_inherited(&core->handle)) pk_wake_signal(&core->wake);
  return Qnil;
}

/* ---- closing ---- */

typedef struct {
  pk_consumer_t *core;
  int entered;
  int64_t deadline_ms;
  pk_failure_t failure;
} close_args_t;

static void *close_begin_safe(void *ptr) {
  close_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  pk_consumer_close_begin(args->core, &args->failure);
  pk_loop_leave(args->core);
  return args;
}

/* Starts to leave the group; the loop continues with wait, poll_event and
 * answer until closing_done?. nil, or [number, message] after a fatal error,
 * after which librdkafka doesn't leave by itself: call close then. */
static VALUE consumer_close_begin(VALUE self) {
  close_args_t args = {.core = pk_consumer_of(self)};

  pk_without_gvl_noraise(close_begin_safe, &args);
  pk_loop_check(args.entered, args.core);
  return pk_failure_value(&args.failure);
}

static VALUE consumer_closing_done_p(VALUE self) {
  pk_consumer_t *core = pk_consumer_of(self);
  bool done;

  if (pk_handle_enter(&core->handle)) return Qtrue;
  done = core->close_begun && rd_kafka_consumer_closed(core->handle.rk);
  pk_handle_leave(&core->handle);
  return done ? Qtrue : Qfalse;
}

static void *close_safe(void *ptr) {
  close_args_t *args = ptr;

  pk_consumer_close(args->core, args->deadline_ms);
  return args;
}

static void close_unblock(void *ptr) {
  pk_consumer_hurry(((close_args_t *)ptr)->core);
}

/* Idempotent; any thread, also in at_exit and on a trap's thread. If
 * interrupted (Thread#kill, Timeout, a signal) it stops waiting for the group,
 * still closes, and then the interrupt takes effect. In a child it only drops
 * the handle. */
static VALUE consumer_close(VALUE self, VALUE timeout_ms) {
  pk_rb_consumer_t *consumer = rb_check_typeddata(self, &pk_consumer_type);
  close_args_t args = {.core = consumer->core};
  int64_t timeout = NUM2LL(timeout_ms);

  if (!args.core || pk_inherited(&args.core->handle)) return Qnil;
  args.deadline_ms = pk_deadline(timeout);
  pk_without_gvl(close_safe, &args, close_unblock, &args);
  pk_handle_unregister(&args.core->handle);
  rb_thread_check_ints();
  return Qnil;
}

/* For an inherited handle: its threads don't exist here, so it can't be closed. */
static VALUE consumer_discard(VALUE self) {
  pk_consumer_t *core = pk_consumer_of(self);

  if (pk_inherited(&core->handle)) pk_handle_discard(&core->handle);
  return Qnil;
}

static void consumer_define(VALUE cConsumer) {
  rb_define_method(cConsumer, "name", consumer_name, 0);
  rb_define_method(cConsumer, "pid", consumer_pid, 0);
  rb_define_method(cConsumer, "state", consumer_state, 0);
  rb_define_method(cConsumer, "closed?", consumer_closed_p, 0);
  rb_define_method(cConsumer, "wait", consumer_wait, 1);
  rb_define_method(cConsumer, "wakeup", consumer_wakeup, 0);
  rb_define_method(cConsumer, "close_begin", consumer_close_begin, 0);
  rb_define_method(cConsumer, "closing_done?", consumer_closing_done_p, 0);
  rb_define_method(cConsumer, "close", consumer_close, 1);
  rb_define_method(cConsumer, "discard!", consumer_discard, 0);
  rb_define_private_method(cConsumer, "open_handle", consumer_open, 1);
}

void Init_pk_consumer(VALUE mNative) {
  VALUE cConsumer = rb_define_class_under(mNative, "Consumer", rb_cObject);

  rb_gc_register_mark_object(eInternal = rb_path2class("Penstock::InternalError"));
  rb_define_alloc_func(cConsumer, consumer_alloc);
  consumer_define(cConsumer);
  Init_pk_consumer_loop(cConsumer);
  Init_pk_consumer_group(cConsumer);
  Init_pk_consumer_query(cConsumer);
}
