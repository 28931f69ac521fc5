#ifndef PENSTOCK_CORE_H
#define PENSTOCK_CORE_H

#include <ruby.h>
#include <ruby/encoding.h>

void Init_pk_child(VALUE mNative);
void Init_pk_death_pipe(VALUE mNative);
void Init_pk_envelope(VALUE mNative);
void Init_pk_heap(VALUE mNative);
void Init_pk_ledger(VALUE mNative);
void Init_pk_lock_meter(VALUE mNative);
void Init_pk_stats_changes(VALUE mNative);
void Init_pk_stats_trim(VALUE mNative);
void Init_pk_subreaper(VALUE mNative);

#endif
