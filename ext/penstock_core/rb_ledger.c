/* Penstock::Native::Ledger: see core/ledger.h and native/ledger.rb; read-only
 * methods are in ledger_readers.c. One ledger per object; the lane's owner
 * calls it, with the GVL. It holds no Ruby objects. */
#include "penstock_core.h"

#include "core/envelope.h"
#include "core/ledger.h"
#include "rb_ledger.h"

typedef struct {
  pk_ledger_t core;
  size_t budget;
} pk_rb_ledger_t;

static VALUE cLedger;
static ID id_size, id_offset;

/* ---- memory ---- */

static void ledger_free(void *ptr) {
  pk_rb_ledger_t *ledger = ptr;

  pk_ledger_free(&ledger->core);
  xfree(ledger);
}

static size_t ledger_size(const void *ptr) {
  const pk_rb_ledger_t *ledger = ptr;

  return sizeof *ledger + pk_ledger_footprint(&ledger->core);
}

static const rb_data_type_t ledger_type = {
    .wrap_struct_name = "Penstock::Native::Ledger",
    .function = {.dfree = ledger_free, .dsize = ledger_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE ledger_alloc(VALUE klass) {
  pk_rb_ledger_t *ledger;
  VALUE self = TypedData_Make_Struct(klass, pk_rb_ledger_t, &ledger_type, ledger);

  ledger->budget = PK_ENVELOPE_MAX;
  return self;
}

static pk_rb_ledger_t *data_of(VALUE self) {
  return rb_check_typeddata(self, &ledger_type);
}

static pk_ledger_t *writing(VALUE self) {
  rb_check_frozen(self);
  return &data_of(self)->core;
}

const pk_ledger_t *pk_ledger_of(VALUE self) {
  return &data_of(self)->core;
}

bool pk_is_ledger(VALUE object) {
  return rb_typeddata_is_kind_of(object, &ledger_type);
}

/* ---- errors ---- */

NORETURN(static void raise_discontinuity(const pk_ledger_t *ledger, int64_t from, int64_t to));
static void raise_discontinuity(const pk_ledger_t *ledger, int64_t from, int64_t to) {
  VALUE error = rb_path2class("Penstock::LaneDiscontinuity");

  if (!ledger->known) rb_raise(error, "records %lld...%lld end before they begin", (long long)from, (long long)to);
  rb_raise(error, "records %lld...%lld don't follow offset %lld, where the last take ended", (long long)from,
           (long long)to, (long long)ledger->tail);
}

static void check(pk_ledger_status_t status, const pk_ledger_t *ledger, int64_t from, int64_t to) {
  switch (status) {
  case PK_LEDGER_OK:
    return;
  case PK_LEDGER_DISCONTINUITY:
    raise_discontinuity(ledger, from, to);
  case PK_LEDGER_INVALID:
    rb_raise(rb_eArgError, "offsets must ascend, lie within %lld...%lld and not be negative", (long long)from,
             (long long)to);
  case PK_LEDGER_NO_MEMORY:
    rb_memerror();
  }
}

/* ---- position ----- ---- */

static VALUE ledger_reset(VALUE self, VALUE base) {
  int64_t offset = NIL_P(base) ? -1 : NUM2LL(base);

  if (!NIL_P(base) && offset < 0) rb_raise(rb_eArgError, "an offset can't be negative: %lld", (long long)offset);
  pk_ledger_reset(writing(self), offset);
  return Qnil;
}

static VALUE ledger_initialize(int argc, VALUE *argv, VALUE self) {
  VALUE base;

  rb_scan_args(argc, argv, "01", &base);
  if (NIL_P(base)) return Qnil;
  ledger_reset(self, base);
  return Qnil;
}

/* A copy is used to compute what would be committed if more were complete. */
static VALUE ledger_initialize_copy(VALUE self, VALUE original) {
  pk_rb_ledger_t *copy, *ledger;

  if (self == original) return self;
  ledger = data_of(original);
  rb_check_frozen(self);
  copy = data_of(self);
  pk_ledger_free(&copy->core);
  check(pk_ledger_copy(&copy->core, &ledger->core), &ledger->core, 0, 0);
  copy->budget = ledger->budget;
  return self;
}

/* ---- admitting ---- */

/* Positions among the records that are already complete; nil if there are none.
 * Called before anything is changed, since it allocates. */
static VALUE positions_of(const pk_ledger_t *ledger, const int64_t *offsets, long count) {
  VALUE found = Qnil;

  for (long i = 0; i < count; i++) {
    const pk_range_t *run = pk_ledger_restored_at(ledger, offsets[i]);

    if (!run) break;
    if (run->from > offsets[i]) continue;
    if (NIL_P(found)) found = rb_ary_new();
    rb_ary_push(found, LONG2NUM(i));
  }
  return found;
}

static VALUE positions_within(const pk_ledger_t *ledger, int64_t from, int64_t to) {
  const pk_range_t *run = pk_ledger_restored_at(ledger, from), *end = ledger->restored + ledger->restored_count;
  VALUE found = Qnil;

  for (; from < to && run && run < end && run->from < to; run++) {
    if (NIL_P(found)) found = rb_ary_new();
    for (int64_t at = run->from > from ? run->from : from; at < run->to && at < to; at++) {
      rb_ary_push(found, LL2NUM(at - from));
    }
  }
  return found;
}

/* A span that won't be admitted is not examined. */
static void check_span(const pk_ledger_t *ledger, int64_t from, int64_t to) {
  if (to < from || (ledger->known && from != ledger->tail)) raise_discontinuity(ledger, from, to);
}

static VALUE admit_all(pk_ledger_t *ledger, int64_t from, int64_t to) {
  VALUE complete = ledger->restored_count ? positions_within(ledger, from, to) : Qnil;

  check(pk_ledger_admit(ledger, from, to, NULL, 0), ledger, from, to);
  return complete;
}

static VALUE admit_these(pk_ledger_t *ledger, int64_t from, int64_t to, const int64_t *offsets, long count) {
  VALUE complete = ledger->restored_count ? positions_of(ledger, offsets, count) : Qnil;

  check(pk_ledger_admit(ledger, from, to, offsets, (size_t)count), ledger, from, to);
  return complete;
}

/* First copies the offsets into a buffer owned by Ruby: reading them may call
 * any code, so the ledger is checked again afterwards. */
static VALUE ledger_admit(int argc, VALUE *argv, VALUE self) {
  pk_ledger_t *ledger = writing(self);
  VALUE first, end, rows, buffer = Qnil, complete;
  int64_t from, to, *offsets;
  long count;

  rb_scan_args(argc, argv, "21", &first, &end, &rows);
  from = NUM2LL(first), to = NUM2LL(end);
  check_span(ledger, from, to);
  if (NIL_P(rows)) return admit_all(ledger, from, to);
  Check_Type(rows, T_ARRAY);
  count = RARRAY_LEN(rows);
  offsets = ALLOCV_N(int64_t, buffer, count + 1);
  for (long i = 0; i < count; i++) offsets[i] = NUM2LL(rb_ary_entry(rows, i));
  complete = admit_these(ledger, from, to, offsets, count);
  ALLOCV_END(buffer);
  return complete;
}

static VALUE ledger_admit_batch(VALUE self, VALUE first, VALUE end, VALUE batch) {
  pk_ledger_t *ledger = writing(self);
  int64_t from = NUM2LL(first), to = NUM2LL(end), *offsets;
  VALUE buffer = Qnil, complete;
  long count;

  check_span(ledger, from, to);
  count = NUM2LONG(rb_funcallv(batch, id_size, 0, NULL));
  if (from < 0 || count < 0 || count > to - from) {
    rb_raise(rb_eArgError, "%ld records can't lie within %lld...%lld", count, (long long)from, (long long)to);
  }
  if (count == to - from) return admit_all(ledger, from, to);
  offsets = ALLOCV_N(int64_t, buffer, count + 1);
  for (long i = 0; i < count; i++) {
    VALUE index = LONG2NUM(i);

    offsets[i] = NUM2LL(rb_funcallv(batch, id_offset, 1, &index));
  }
  rb_check_frozen(self);
  complete = admit_these(ledger, from, to, offsets, count);
  ALLOCV_END(buffer);
  return complete;
}

static VALUE ledger_restore(VALUE self, VALUE rows) {
  pk_ledger_t *ledger = writing(self);
  VALUE buffer = Qnil;
  pk_range_t *ranges;
  long count;
  pk_ledger_status_t status;

  Check_Type(rows, T_ARRAY);
  if (!ledger->known) rb_raise(rb_eArgError, "runs can only be restored above a base, and the base is unknown");
  count = RARRAY_LEN(rows);
  ranges = ALLOCV_N(pk_range_t, buffer, count + 1);
  pk_fill_ranges(rows, ranges, (size_t)count);
  status = pk_ledger_restore(ledger, ranges, (size_t)count);
  ALLOCV_END(buffer);
  if (status == PK_LEDGER_INVALID) rb_raise(rb_eArgError, "runs must ascend and not touch");
  if (status == PK_LEDGER_NO_MEMORY) rb_memerror();
  return Qnil;
}

/* ---- completing ---- */

static bool complete_one(pk_ledger_t *ledger, VALUE offset) {
  bool changed;

  if (pk_ledger_complete(ledger, NUM2LL(offset), &changed) != PK_LEDGER_OK) rb_memerror();
  return changed;
}

static VALUE ledger_complete(VALUE self, VALUE offset) {
  return complete_one(writing(self), offset) ? Qtrue : Qfalse;
}

static VALUE ledger_complete_many(VALUE self, VALUE offsets) {
  pk_ledger_t *ledger = writing(self);
  long count = 0;

  Check_Type(offsets, T_ARRAY);
  for (long i = 0; i < RARRAY_LEN(offsets); i++) count += complete_one(ledger, rb_ary_entry(offsets, i));
  return LONG2NUM(count);
}

static VALUE ledger_complete_through(VALUE self, VALUE offset) {
  return pk_ledger_complete_through(writing(self), NUM2LL(offset)) ? Qtrue : Qfalse;
}

/* ---- the budget of its commits ---- */

static VALUE ledger_budget(VALUE self) {
  return SIZET2NUM(data_of(self)->budget);
}

static VALUE ledger_set_budget(VALUE self, VALUE bytes) {
  long budget = NUM2LONG(bytes);

  rb_check_frozen(self);
  if (budget < 0) rb_raise(rb_eArgError, "the budget can't be negative: %ld bytes", budget);
  data_of(self)->budget = budget > PK_ENVELOPE_MAX ? PK_ENVELOPE_MAX : (size_t)budget;
  return bytes;
}

/* ---- */

void Init_pk_ledger(VALUE mNative) {
  id_size = rb_intern("size");
  id_offset = rb_intern("offset");
  cLedger = rb_define_class_under(mNative, "Ledger", rb_cObject);
  rb_gc_register_mark_object(cLedger);
  rb_define_alloc_func(cLedger, ledger_alloc);
  rb_define_method(cLedger, "initialize", ledger_initialize, -1);
  rb_define_method(cLedger, "initialize_copy", ledger_initialize_copy, 1);
  rb_define_method(cLedger, "reset", ledger_reset, 1);
  rb_define_method(cLedger, "admit", ledger_admit, -1);
  rb_define_method(cLedger, "admit_batch", ledger_admit_batch, 3);
  rb_define_method(cLedger, "restore", ledger_restore, 1);
  rb_define_method(cLedger, "complete", ledger_complete, 1);
  rb_define_method(cLedger, "complete_many", ledger_complete_many, 1);
  rb_define_method(cLedger, "complete_through", ledger_complete_through, 1);
  rb_define_method(cLedger, "budget=", ledger_set_budget, 1);
  rb_define_method(cLedger, "budget", ledger_budget, 0);
  pk_define_ledger_readers(cLedger);
}
