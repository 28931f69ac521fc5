/* Penstock::Native::StatsTrim.call(json, wanted): see core/stats_trim.h. */
#include "penstock_core.h"

#include <stdlib.h>

#include "core/stats_trim.h"

/* wanted: {topic => {partition => true}}. Called between reading and writing,
 * so it must not raise: it only does lookups, with Strings and small Integers
 * as keys. */
static bool wanted_p(void *context, const char *topic, size_t topic_size, int32_t partition) {
  VALUE name = rb_utf8_str_new(topic, (long)topic_size);
  VALUE partitions = rb_hash_lookup((VALUE)context, name);

  return RB_TYPE_P(partitions, T_HASH) && RTEST(rb_hash_lookup(partitions, INT2FIX(partition)));
}

/* The buffer is a Ruby String: it is freed in any case. */
static VALUE stats_trim_call(VALUE self, VALUE json, VALUE wanted) {
  VALUE out;
  long size;

  Check_Type(json, T_STRING);
  if (!NIL_P(wanted)) Check_Type(wanted, T_HASH);
  out = rb_utf8_str_new(NULL, RSTRING_LEN(json));
  size = pk_stats_trim(RSTRING_PTR(json), (size_t)RSTRING_LEN(json), NIL_P(wanted) ? NULL : wanted_p, (void *)wanted,
                       RSTRING_PTR(out));
  RB_GC_GUARD(json);
  RB_GC_GUARD(wanted);
  if (size < 0) return Qnil;
  rb_str_resize(out, size);
  return out;
}

void Init_pk_stats_trim(VALUE mNative) {
  VALUE mTrim = rb_define_module_under(mNative, "StatsTrim");

  rb_define_singleton_method(mTrim, "call", stats_trim_call, 2);
}
