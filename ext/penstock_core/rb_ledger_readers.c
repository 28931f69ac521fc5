/* The read-only methods of Penstock::Native::Ledger. */
#include "penstock_core.h"

#include "rb_ledger.h"

/* ---- position ----- ---- */

static VALUE ledger_known_p(VALUE self) {
  return pk_ledger_of(self)->known ? Qtrue : Qfalse;
}

static VALUE ledger_base(VALUE self) {
  const pk_ledger_t *ledger = pk_ledger_of(self);

  return ledger->known ? LL2NUM(ledger->base) : Qnil;
}

static VALUE ledger_tail(VALUE self) {
  const pk_ledger_t *ledger = pk_ledger_of(self);

  return ledger->known ? LL2NUM(ledger->tail) : Qnil;
}

static VALUE ledger_committable(VALUE self) {
  const pk_ledger_t *ledger = pk_ledger_of(self);

  return ledger->known ? LL2NUM(pk_ledger_committable(ledger)) : Qnil;
}

static VALUE ledger_dry_p(VALUE self) {
  const pk_ledger_t *ledger = pk_ledger_of(self);

  return ledger->base == ledger->tail ? Qtrue : Qfalse;
}

static VALUE ledger_incomplete(VALUE self) {
  return ULL2NUM(pk_ledger_of(self)->incomplete);
}

static VALUE ledger_span(VALUE self) {
  const pk_ledger_t *ledger = pk_ledger_of(self);

  return LL2NUM(ledger->tail - ledger->base);
}

static VALUE ledger_version(VALUE self) {
  return ULL2NUM(pk_ledger_of(self)->version);
}

/* ---- queries ---- */

static VALUE ledger_complete_p(VALUE self, VALUE offset) {
  return pk_ledger_is_complete(pk_ledger_of(self), NUM2LL(offset)) ? Qtrue : Qfalse;
}

static VALUE ledger_first_incomplete(VALUE self) {
  const pk_ledger_t *ledger = pk_ledger_of(self);

  return ledger->incomplete ? LL2NUM(ledger->base) : Qnil;
}

static long limit_of(int argc, VALUE *argv) {
  VALUE limit;

  rb_scan_args(argc, argv, "01", &limit);
  return NIL_P(limit) ? LONG_MAX : NUM2LONG(limit);
}

static VALUE ledger_incomplete_offsets(int argc, VALUE *argv, VALUE self) {
  const pk_ledger_t *ledger = pk_ledger_of(self);
  long limit = limit_of(argc, argv);
  VALUE rows = rb_ary_new();
  int64_t at = 0;

  while (limit-- > 0 && pk_ledger_next_incomplete(ledger, at, &at)) rb_ary_push(rows, LL2NUM(at++));
  return rows;
}

static VALUE ledger_incomplete_between(VALUE self, VALUE from, VALUE to) {
  const pk_ledger_t *ledger = pk_ledger_of(self);
  int64_t at = NUM2LL(from), end = NUM2LL(to);
  VALUE rows = rb_ary_new();

  while (at < end && pk_ledger_next_incomplete(ledger, at, &at) && at < end) rb_ary_push(rows, LL2NUM(at++));
  return rows;
}

/* The walk is paused while Ruby allocates: no Ruby code can reach the ledger
 * meanwhile, but garbage collection may run, and that moves no cells. */
typedef struct {
  VALUE rows;
  long left;
} rows_t;

static bool push_range(void *context, int64_t from, int64_t to) {
  rows_t *into = context;

  if (into->left-- <= 0) return false;
  rb_ary_push(into->rows, rb_assoc_new(LL2NUM(from), LL2NUM(to)));
  return true;
}

static VALUE ledger_ranges(int argc, VALUE *argv, VALUE self) {
  const pk_ledger_t *ledger = pk_ledger_of(self);
  rows_t into = {rb_ary_new(), limit_of(argc, argv)};

  pk_ledger_ranges(ledger, push_range, &into);
  return into.rows;
}

/* map_bound(ceiling) → bytes of the envelope, before encoding as text */
static VALUE ledger_map_bound(VALUE self, VALUE ceiling) {
  return SIZET2NUM(pk_ledger_map_bound(pk_ledger_of(self), NUM2SIZET(ceiling)));
}

void pk_define_ledger_readers(VALUE cLedger) {
  rb_define_method(cLedger, "known?", ledger_known_p, 0);
  rb_define_method(cLedger, "base", ledger_base, 0);
  rb_define_method(cLedger, "tail", ledger_tail, 0);
  rb_define_method(cLedger, "committable", ledger_committable, 0);
  rb_define_method(cLedger, "dry?", ledger_dry_p, 0);
  rb_define_method(cLedger, "incomplete", ledger_incomplete, 0);
  rb_define_method(cLedger, "span", ledger_span, 0);
  rb_define_method(cLedger, "version", ledger_version, 0);
  rb_define_method(cLedger, "complete?", ledger_complete_p, 1);
  rb_define_method(cLedger, "first_incomplete", ledger_first_incomplete, 0);
  rb_define_method(cLedger, "incomplete_offsets", ledger_incomplete_offsets, -1);
  rb_define_method(cLedger, "incomplete_between", ledger_incomplete_between, 2);
  rb_define_method(cLedger, "ranges", ledger_ranges, -1);
  rb_define_method(cLedger, "map_bound", ledger_map_bound, 1);
}
