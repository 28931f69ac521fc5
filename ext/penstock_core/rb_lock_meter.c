/* Penstock::Native::LockMeter: see core/lock_meter.h and native/lock_meter.rb.
 *
 * Ruby calls a hook when a thread wants its lock and when it has got it, from
 * version 3.2 on. The hook finds the thread's meter in storage of the thread,
 * and does nothing for threads without one. It must not call Ruby nor allocate:
 * Ruby may hold the lock of its scheduler.
 *
 * From 3.3 on a Ruby thread may move between native threads, and a hook may run
 * on another thread than the one it is about (RUBY_MN_THREADS): there the
 * storage belongs to the Ruby thread. 3.2 doesn't pass the thread, but calls the
 * hook on it. */
#include "penstock_core.h"

#include <pthread.h>
#include <ruby/thread.h>
#include <stdbool.h>
#include <unistd.h>

#include "core/lock_meter.h"

typedef struct {
  pk_lock_meter_t *meter; /* NULL once it is closed */
  pk_lock_figures_t last; /* then */
} handle_t;

/* -- the meter of a thread --------------------------------------------------- */

#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
static rb_internal_thread_specific_key_t storage;

static void create_storage(void) {
  storage = rb_internal_thread_specific_key_create(); /* raises ThreadError where others have taken all keys */
}

static pk_lock_meter_t *meter_of(VALUE thread) { return rb_internal_thread_specific_get(thread, storage); }

static void keep_own(pk_lock_meter_t *meter) { rb_internal_thread_specific_set(rb_thread_current(), storage, meter); }

static pk_lock_meter_t *own(void) { return meter_of(rb_thread_current()); }
#else
static pthread_key_t storage;

static void create_storage(void) {
  int err = pthread_key_create(&storage, NULL);

  if (err) rb_syserr_fail(err, "storage of threads");
}

static void keep_own(pk_lock_meter_t *meter) { pthread_setspecific(storage, meter); }

static pk_lock_meter_t *own(void) { return pthread_getspecific(storage); }
#endif

static bool stored; /* guarded by Ruby's lock, as all below */

static void need_storage(void) {
  if (!stored) create_storage();
  stored = true;
}

/* -- the hook ---------------------------------------------------------------- */

static int users;

#ifdef HAVE_RB_INTERNAL_THREAD_ADD_EVENT_HOOK
static rb_internal_thread_event_hook_t *hook;
static pid_t hook_pid;

static void on_event(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused) {
#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
  pk_lock_meter_t *meter = meter_of(data->thread);
#else
  pk_lock_meter_t *meter = own();
#endif

  if (!meter) return;
  if (event == RUBY_INTERNAL_THREAD_EVENT_READY)
    pk_lock_meter_ready(meter);
  else
    pk_lock_meter_resumed(meter);
}

/* The child of a fork inherits the hook, and Ruby's lock of the list of hooks,
 * which another thread of the parent may have held: the child keeps the hook and
 * never touches that list. */
static void add_hook(void) {
  if (hook) return;
  hook = rb_internal_thread_add_event_hook(on_event, RUBY_INTERNAL_THREAD_EVENT_READY | RUBY_INTERNAL_THREAD_EVENT_RESUMED,
                                           NULL);
  hook_pid = getpid();
}

static void remove_hook(void) {
  if (!hook || hook_pid != getpid()) return;
  rb_internal_thread_remove_event_hook(hook);
  hook = NULL;
}

static VALUE lock_meter_hooks_p(VALUE self) { return Qtrue; }
#else
static void add_hook(void) {}
static void remove_hook(void) {}
static VALUE lock_meter_hooks_p(VALUE self) { return Qfalse; }
#endif

static VALUE lock_meter_prepare(VALUE self) {
  need_storage();
  return Qnil;
}

static VALUE lock_meter_start(VALUE self) {
  need_storage();
  if (users++ == 0) add_hook();
  return Qnil;
}

static VALUE lock_meter_stop(VALUE self) {
  if (users > 0 && --users == 0) remove_hook();
  return Qnil;
}

/* -- a handle ---------------------------------------------------------------- */

static size_t handle_size(const void *ptr) { return sizeof(handle_t); }

/* Its meter isn't closed here: if its thread didn't close it, the thread may
 * still have it. */
static const rb_data_type_t handle_type = {
    .wrap_struct_name = "Penstock::Native::LockMeter",
    .function = {.dfree = RUBY_DEFAULT_FREE, .dsize = handle_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static handle_t *handle_of(VALUE self) { return rb_check_typeddata(self, &handle_type); }

static VALUE lock_meter_open(VALUE klass) {
  handle_t *handle;
  VALUE self = TypedData_Make_Struct(klass, handle_t, &handle_type, handle);

  need_storage();
  if (own()) rb_raise(rb_eThreadError, "this thread has a lock meter already: close that one first");
  handle->meter = pk_lock_meter_open();
  if (!handle->meter) rb_memerror();
  keep_own(handle->meter);
  return self;
}

static VALUE lock_meter_close(VALUE self) {
  handle_t *handle = handle_of(self);

  if (!handle->meter) return Qnil;
  if (own() != handle->meter) rb_raise(rb_eThreadError, "a lock meter is closed by the thread that opened it");
  keep_own(NULL);
  handle->last = pk_lock_meter_read(handle->meter);
  pk_lock_meter_close(handle->meter);
  handle->meter = NULL;
  return Qnil;
}

static VALUE lock_meter_busy(VALUE self) {
  handle_t *handle = handle_of(self);

  if (handle->meter) pk_lock_meter_busy(handle->meter);
  return Qnil;
}

static VALUE lock_meter_idle(VALUE self) {
  handle_t *handle = handle_of(self);

  if (handle->meter) pk_lock_meter_idle(handle->meter);
  return Qnil;
}

static VALUE lock_meter_read(VALUE self) {
  handle_t *handle = handle_of(self);
  pk_lock_figures_t figures = handle->meter ? pk_lock_meter_read(handle->meter) : handle->last;

  return rb_ary_new_from_args(3, LL2NUM(figures.busy_ns), LL2NUM(figures.waited_ns),
                              figures.held_ns < 0 ? Qnil : LL2NUM(figures.held_ns));
}

void Init_pk_lock_meter(VALUE mNative) {
  VALUE cMeter = rb_define_class_under(mNative, "LockMeter", rb_cObject);

  rb_undef_alloc_func(cMeter);
  rb_undef_method(CLASS_OF(cMeter), "new");
  rb_define_singleton_method(cMeter, "hooks?", lock_meter_hooks_p, 0);
  rb_define_singleton_method(cMeter, "prepare", lock_meter_prepare, 0);
  rb_define_singleton_method(cMeter, "start", lock_meter_start, 0);
  rb_define_singleton_method(cMeter, "stop", lock_meter_stop, 0);
  rb_define_singleton_method(cMeter, "open", lock_meter_open, 0);
  rb_define_method(cMeter, "close", lock_meter_close, 0);
  rb_define_method(cMeter, "busy", lock_meter_busy, 0);
  rb_define_method(cMeter, "idle", lock_meter_idle, 0);
  rb_define_method(cMeter, "read", lock_meter_read, 0);
}
