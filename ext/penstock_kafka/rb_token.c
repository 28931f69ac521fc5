/* OAuth tokens: read from Ruby once, then passed to a client without running
 * Ruby in between. With the GVL: librdkafka copies them. */
#include "rb_token.h"

/* A name or a value may be a Symbol or a number. */
static VALUE extension_text(VALUE value) {
  if (NIL_P(value)) rb_raise(rb_eTypeError, "an extension of a token has a name and a value");
  return pk_own_text(rb_obj_as_string(value));
}

static int extension_push(VALUE name, VALUE value, VALUE flat) {
  rb_ary_push(flat, extension_text(name));
  rb_ary_push(flat, extension_text(value));
  return ST_CONTINUE;
}

static VALUE extensions_of(VALUE extensions) {
  VALUE flat = rb_ary_new();

  if (NIL_P(extensions)) return flat;
  if (RB_TYPE_P(extensions, T_ARRAY)) {
    for (long i = 0; i < RARRAY_LEN(extensions); i++) rb_ary_push(flat, extension_text(rb_ary_entry(extensions, i)));
    return flat;
  }
  Check_Type(extensions, T_HASH);
  rb_hash_foreach(extensions, extension_push, flat);
  return flat;
}

pk_token_t pk_token_read(VALUE token, VALUE expires_ms, VALUE principal, VALUE extensions) {
  pk_token_t it = {.expires_ms = NUM2LL(expires_ms), .error = ""};

  it.token = pk_own_text(token);
  it.principal = pk_own_text(principal);
  it.extensions = extensions_of(extensions);
  return it;
}

rd_kafka_resp_err_t pk_token_give(rd_kafka_t *rk, pk_token_t *it) {
  long count = RARRAY_LEN(it->extensions);
  VALUE holder = Qnil;
  const char **pointers = ALLOCV_N(const char *, holder, count + 1);
  rd_kafka_resp_err_t err;

  for (long i = 0; i < count; i++) pointers[i] = RSTRING_PTR(RARRAY_AREF(it->extensions, i));
  err = rd_kafka_oauthbearer_set_token(rk, RSTRING_PTR(it->token), it->expires_ms, RSTRING_PTR(it->principal), pointers,
                                       (size_t)count, it->error, sizeof it->error);
  ALLOCV_END(holder);
  return err;
}

rd_kafka_resp_err_t pk_token_set(pk_handle_t *handle, const char *what, pk_token_t *it) {
  rd_kafka_resp_err_t err;

  pk_enter(handle, what);
  err = pk_token_give(handle->rk, it);
  pk_handle_leave(handle);
  return err;
}
