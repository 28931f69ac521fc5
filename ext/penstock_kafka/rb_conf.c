/* Penstock::Native::Conf: checks a configuration with librdkafka, and contains
 * the only conversion from a Hash of Strings to an rd_kafka_conf_t, for all
 * handles. */
#include "penstock_kafka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/conf.h"
#include "rb_error.h"
#include "rb_nogvl.h"

/* -- Hash to rd_kafka_conf_t ------------------------------------------------ */

static int check_pair(VALUE key, VALUE value, VALUE pairs) {
  StringValueCStr(key);
  StringValueCStr(value);
  rb_ary_push(pairs, key);
  rb_ary_push(pairs, value);
  return ST_CONTINUE;
}

/* Everything that can raise (types, NUL bytes) happens here, before anything
 * native exists. */
static VALUE flat_pairs(VALUE hash) {
  VALUE pairs = rb_ary_new();

  Check_Type(hash, T_HASH);
  rb_hash_foreach(hash, check_pair, pairs);
  return pairs;
}

static rd_kafka_conf_res_t set_pair(rd_kafka_conf_t *conf, VALUE pairs, long index, char *error) {
  return rd_kafka_conf_set(conf, RSTRING_PTR(RARRAY_AREF(pairs, index)), RSTRING_PTR(RARRAY_AREF(pairs, index + 1)),
                           error, PK_CONF_ERROR_SIZE);
}

static rd_kafka_conf_t *build_conf(VALUE pairs, char *error) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();

  for (long index = 0; index < RARRAY_LEN(pairs); index += 2) {
    if (set_pair(conf, pairs, index, error) == RD_KAFKA_CONF_OK) continue;
    rd_kafka_conf_destroy(conf);
    return NULL;
  }
  return conf;
}

/* For a refused property, returns NULL and sets *error_out, or raises the
 * exception if error_out is NULL. Keys or values that aren't Strings always
 * raise: call this before anything else is allocated. */
rd_kafka_conf_t *pk_conf_from_hash(VALUE hash, VALUE *error_out) {
  char error[PK_CONF_ERROR_SIZE] = "";
  VALUE pairs = flat_pairs(hash);
  rd_kafka_conf_t *conf = build_conf(pairs, error);

  RB_GC_GUARD(pairs);
  if (conf) return conf;
  if (!error_out) pk_raise(RD_KAFKA_RESP_ERR__INVALID_ARG, error);
  *error_out = pk_exception(RD_KAFKA_RESP_ERR__INVALID_ARG, error);
  return NULL;
}

/* -- Penstock::Native::Conf ------------------------------------------------- */

static VALUE message_or_nil(const char *error) {
  return *error ? pk_utf8(error) : Qnil;
}

/* Conf.check(name, value) → nil, or the problem with this one property. */
static VALUE conf_check(VALUE self, VALUE name, VALUE value) {
  char error[PK_CONF_ERROR_SIZE] = "";
  VALUE own_name = pk_own_text(name), own_value = pk_own_text(value);
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  rd_kafka_conf_res_t result =
      rd_kafka_conf_set(conf, RSTRING_PTR(own_name), RSTRING_PTR(own_value), error, sizeof error);

  rd_kafka_conf_destroy(conf);
  RB_GC_GUARD(own_name);
  RB_GC_GUARD(own_value);
  return result == RD_KAFKA_CONF_OK ? Qnil : message_or_nil(error);
}

typedef struct {
  rd_kafka_type_t type;
  rd_kafka_conf_t *conf; /* NULL once the trial owns it */
  rd_kafka_resp_err_t result;
  char error[PK_CONF_ERROR_SIZE];
} trial_args;

static void *trial_safe(void *pointer) {
  trial_args *args = pointer;
  rd_kafka_conf_t *conf = args->conf;

  args->conf = NULL;
  args->result = pk_conf_trial(args->type, conf, args->error, sizeof args->error);
  return pointer;
}

/* Not interruptible: the trial ends by itself within milliseconds. An interrupt
 * that is already pending raises here, and the ensure frees conf. */
static VALUE trial_body(VALUE pointer) {
  pk_without_gvl(trial_safe, (void *)pointer, NULL, NULL);
  return Qnil;
}

static VALUE trial_cleanup(VALUE pointer) {
  trial_args *args = (trial_args *)pointer;

  if (args->conf) rd_kafka_conf_destroy(args->conf);
  return Qnil;
}

/* Conf.trial(hash, consumer) → nil, or the problem with the combination. */
static VALUE conf_trial(VALUE self, VALUE hash, VALUE consumer) {
  trial_args args = {RTEST(consumer) ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER, NULL, 0, ""};

  args.conf = pk_conf_from_hash(hash, NULL);
  rb_ensure(trial_body, (VALUE)&args, trial_cleanup, (VALUE)&args);
  return args.result ? message_or_nil(args.error) : Qnil;
}

static VALUE table_string(VALUE text) {
  return rb_utf8_str_new_cstr((const char *)text);
}

/* Conf.table → librdkafka's table of properties, as text. */
static VALUE conf_table(VALUE self) {
  size_t size = 0;
  int state = 0;
  char *text = pk_conf_table(&size);
  VALUE string;

  if (!text) rb_memerror();
  string = rb_protect(table_string, (VALUE)text, &state);
  free(text);
  if (state) rb_jump_tag(state);
  return string;
}

void Init_pk_conf(VALUE mNative) {
  VALUE mConf = rb_define_module_under(mNative, "Conf");

  rb_define_singleton_method(mConf, "check", conf_check, 2);
  rb_define_singleton_method(mConf, "trial", conf_trial, 2);
  rb_define_singleton_method(mConf, "table", conf_table, 0);
}
