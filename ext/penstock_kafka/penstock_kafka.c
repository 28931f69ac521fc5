#include "penstock_kafka.h"

#include "core/consumer.h"
#include "core/crash.h"
#include "core/exit.h"
#include "rb_producing.h"
#include "rb_gvl_yield.h"

VALUE pk_mPenstock;
VALUE pk_mNative;

static VALUE eForked;
static VALUE eClosed;

VALUE pk_own_text(VALUE value) {
  StringValueCStr(value);
  return rb_str_new_frozen(value);
}

VALUE pk_integer(VALUE value) {
  if (RB_INTEGER_TYPE_P(value) || RB_FLOAT_TYPE_P(value)) return value;
  rb_raise(rb_eTypeError, "expected an Integer, not %" PRIsVALUE, rb_obj_class(value));
}

VALUE pk_utf8(const char *string) {
  return string ? rb_utf8_str_new_cstr(string) : Qnil;
}

VALUE pk_utf8_frozen(const char *string) {
  return string ? rb_str_freeze(rb_utf8_str_new_cstr(string)) : Qnil;
}

VALUE pk_binary(const void *bytes, size_t size) {
  return bytes ? rb_str_freeze(rb_str_new(bytes, (long)size)) : Qnil;
}

void pk_raise_closed(const char *what) {
  rb_raise(eClosed, "the %s is closed: create a new one", what);
}

NORETURN(static void pk_raise_forked(const pk_handle_t *handle, const char *what));
static void pk_raise_forked(const pk_handle_t *handle, const char *what) {
  rb_raise(eForked, "the %s was opened by process %d and can't be used after fork: open one in the child", what,
           (int)handle->pid);
}

void pk_raise_entry(const pk_handle_t *handle, const char *what, int result) {
  if (result == PK_E_FORKED) pk_raise_forked(handle, what);
  pk_raise_closed(what);
}

void pk_enter(pk_handle_t *handle, const char *what) {
  int result = pk_handle_enter(handle);

  if (result) pk_raise_entry(handle, what, result);
}

void pk_enter_closing(pk_handle_t *handle, const char *what) {
  int result = pk_handle_enter_closing(handle);

  if (result) pk_raise_entry(handle, what, result);
}

VALUE pk_state_symbol(const pk_handle_t *handle) {
  static const char *const names[] = {"open", "closing", "closed", "discarded"};

  if (pk_inherited(handle)) return ID2SYM(rb_intern("discarded"));
  return ID2SYM(rb_intern(names[pk_handle_state(handle)]));
}

/* @return [Integer] librdkafka's threads in this process; must be 0 before a
 * fork. A child inherits the count, but not the threads. */
static VALUE native_thread_count(VALUE self) {
  return INT2NUM(rd_kafka_thread_cnt());
}

/* @return [Integer] number of open native handles in this process */
static VALUE native_handle_count(VALUE self) {
  return INT2NUM(pk_handles_count());
}

/* @return [Boolean] this librdkafka has our patches: a rebalance doesn't stop
 * the partitions that stay. Checked in the library, not at build time. */
static VALUE native_patched_p(VALUE self) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  bool patched = pk_consumer_patched(conf);

  rd_kafka_conf_destroy(conf);
  return patched ? Qtrue : Qfalse;
}

/* Called in the child by the Process._fork hook: every handle of the parent
 * becomes a discarded one and its descriptors are closed. */
static VALUE native_forked(VALUE self) {
  pk_handles_forked();
  pk_completions_forked();
  return Qnil;
}

static VALUE native_features(VALUE self) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  char names[512] = "";
  size_t size = sizeof names;

  rd_kafka_conf_get(conf, "builtin.features", names, &size);
  rd_kafka_conf_destroy(conf);
  return rb_str_split(rb_utf8_str_new_cstr(names), ",");
}

static void (*const inits[])(VALUE) = {
    Init_pk_error, Init_pk_conf,     Init_pk_batch,    Init_pk_lane, Init_pk_consumer,
    Init_pk_group_metadata, Init_pk_delivery, Init_pk_completions, Init_pk_producer, Init_pk_admin, Init_pk_mock,
};

/* Ruby's own, but in no public header. */
int ruby_native_thread_p(void);

/* The beginning of the line that a crashing process writes. */
static VALUE native_identity(VALUE self, VALUE text) {
  pk_crash_identity(StringValueCStr(text));
  return Qnil;
}

RUBY_FUNC_EXPORTED void Init_penstock_kafka(void) {
  pk_guard_exit();
  pk_crash_ruby_threads(ruby_native_thread_p);
  Init_pk_gvl_yield();
  pk_mPenstock = rb_define_module("Penstock");
  pk_mNative = rb_define_module_under(pk_mPenstock, "Native");
  rb_gc_register_mark_object(eForked = rb_path2class("Penstock::ForkedHandleError"));
  rb_gc_register_mark_object(eClosed = rb_path2class("Penstock::HandleClosedError"));
  rb_define_const(pk_mNative, "LIBRDKAFKA_VERSION", pk_utf8_frozen(rd_kafka_version_str()));
  rb_define_module_function(pk_mNative, "features", native_features, 0);
  rb_define_module_function(pk_mNative, "patched?", native_patched_p, 0);
  rb_define_module_function(pk_mNative, "thread_count", native_thread_count, 0);
  rb_define_module_function(pk_mNative, "handle_count", native_handle_count, 0);
  rb_define_module_function(pk_mNative, "forked!", native_forked, 0);
  rb_define_module_function(pk_mNative, "crash_identity=", native_identity, 1);
  for (size_t i = 0; i < sizeof inits / sizeof *inits; i++) inits[i](pk_mNative);
}
