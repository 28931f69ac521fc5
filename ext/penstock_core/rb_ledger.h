/* Functions that the parts of the binding share. */
#ifndef PENSTOCK_LEDGER_H
#define PENSTOCK_LEDGER_H

#include "core/ledger.h"

bool pk_is_ledger(VALUE object);
const pk_ledger_t *pk_ledger_of(VALUE self);
void pk_define_ledger_readers(VALUE cLedger);

/* The first `count` pairs of an Array as ranges; in envelope.c. */
void pk_fill_ranges(VALUE rows, pk_range_t *ranges, size_t count);

#endif
