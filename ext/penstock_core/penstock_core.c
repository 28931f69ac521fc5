/* The native code that doesn't need librdkafka. Everything runs with the GVL. */
#include "penstock_core.h"

RUBY_FUNC_EXPORTED void Init_penstock_core(void) {
  VALUE mPenstock = rb_define_module("Penstock");
  VALUE mNative = rb_define_module_under(mPenstock, "Native");

  Init_pk_child(mNative);
  Init_pk_death_pipe(mNative);
  Init_pk_envelope(mNative);
  Init_pk_heap(mNative);
  Init_pk_ledger(mNative);
  Init_pk_lock_meter(mNative);
  Init_pk_stats_changes(mNative);
  Init_pk_stats_trim(mNative);
  Init_pk_subreaper(mNative);
}
