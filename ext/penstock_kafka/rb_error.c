/* Converts librdkafka's errors to exceptions. C never chooses the class: it
 * passes number, name, message and flags to Penstock::Native.kafka_error, so
 * that the exception hierarchy is defined once, in Ruby. */
#include "rb_error.h"

#include <stdio.h>

enum { FLAG_FATAL = 1, FLAG_RETRIABLE = 2, FLAG_ABORTABLE = 4 };

typedef struct {
  rd_kafka_resp_err_t err;
  int flags;
  const char *message;
} pk_error_parts_t;

static ID id_kafka_error;

static VALUE build(VALUE argument) {
  const pk_error_parts_t *parts = (const pk_error_parts_t *)argument;
  const char *message = parts->message ? parts->message : rd_kafka_err2str(parts->err);

  return rb_funcall(pk_mNative, id_kafka_error, 4, INT2NUM((int)parts->err), pk_utf8(rd_kafka_err2name(parts->err)),
                    pk_utf8(message), INT2FIX(parts->flags));
}

/* Never raises: if the exception itself can't be built, returns the exception
 * that prevented it. So it may be called while native state is incomplete. */
static VALUE build_protected(pk_error_parts_t *parts) {
  int state = 0;
  VALUE exception = rb_protect(build, (VALUE)parts, &state);

  if (state) {
    exception = rb_errinfo();
    rb_set_errinfo(Qnil);
  }
  return exception;
}

VALUE pk_exception(rd_kafka_resp_err_t err, const char *message) {
  pk_error_parts_t parts = {err, 0, message};
  return build_protected(&parts);
}

VALUE pk_exception_from_error(rd_kafka_error_t *error) {
  char message[512];
  pk_error_parts_t parts = {rd_kafka_error_code(error), 0, message};

  if (rd_kafka_error_is_fatal(error)) parts.flags |= FLAG_FATAL;
  if (rd_kafka_error_is_retriable(error)) parts.flags |= FLAG_RETRIABLE;
  if (rd_kafka_error_txn_requires_abort(error)) parts.flags |= FLAG_ABORTABLE;
  snprintf(message, sizeof message, "%s", rd_kafka_error_string(error));
  rd_kafka_error_destroy(error);
  return build_protected(&parts);
}

void pk_raise(rd_kafka_resp_err_t err, const char *message) {
  rb_exc_raise(pk_exception(err, message));
}

void pk_raise_error(rd_kafka_error_t *error) {
  rb_exc_raise(pk_exception_from_error(error));
}

/* Native.error_numbers → {"NOT_COORDINATOR" => 16, …}, every error librdkafka
 * has a name for. */
static VALUE error_numbers(VALUE self) {
  const struct rd_kafka_err_desc *descs;
  VALUE numbers = rb_hash_new();
  size_t count;

  rd_kafka_get_err_descs(&descs, &count);
  for (size_t i = 0; i < count; i++) {
    if (descs[i].name) rb_hash_aset(numbers, pk_utf8_frozen(descs[i].name), INT2NUM((int)descs[i].code));
  }
  return numbers;
}

/* Native.error_text(number) → librdkafka's sentence for it. */
static VALUE error_text(VALUE self, VALUE number) {
  return pk_utf8(rd_kafka_err2str((rd_kafka_resp_err_t)NUM2INT(number)));
}

void Init_pk_error(VALUE mNative) {
  rb_define_singleton_method(mNative, "error_text", error_text, 1);
  rb_define_singleton_method(mNative, "error_numbers", error_numbers, 0);
  id_kafka_error = rb_intern("kafka_error");
}
