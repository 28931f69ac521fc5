/* Penstock::Native::Envelope.pack and unpack, see core/envelope.h. Rows in,
 * rows out; native/envelope.rb documents their meaning. */
#include "penstock_core.h"

#include <string.h>

#include "core/envelope.h"
#include "rb_ledger.h"

static uint32_t place_of(VALUE cluster, VALUE topic) {
  if (!NIL_P(cluster)) Check_Type(cluster, T_STRING);
  Check_Type(topic, T_STRING);
  return pk_envelope_place(NIL_P(cluster) ? "" : RSTRING_PTR(cluster),
                           NIL_P(cluster) ? 0 : (size_t)RSTRING_LEN(cluster), RSTRING_PTR(topic),
                           (size_t)RSTRING_LEN(topic));
}

static VALUE pair_of(VALUE row) {
  Check_Type(row, T_ARRAY);
  if (RARRAY_LEN(row) != 2) rb_raise(rb_eArgError, "a pair has two values");
  return row;
}

static VALUE pair_at(VALUE rows, long index) {
  return pair_of(rb_ary_entry(rows, index));
}

/* Converting a number may call Ruby code that lengthens the rows: the space is
 * for `count`. */
void pk_fill_ranges(VALUE rows, pk_range_t *ranges, size_t count) {
  for (size_t i = 0; i < count; i++) {
    VALUE row = pair_at(rows, (long)i);

    ranges[i] = (pk_range_t){NUM2LL(rb_ary_entry(row, 0)), NUM2LL(rb_ary_entry(row, 1))};
  }
}

static void fill_attempts(VALUE rows, pk_attempt_t *attempts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    VALUE row = pair_at(rows, (long)i);

    attempts[i] = (pk_attempt_t){NUM2LL(rb_ary_entry(row, 0)), NUM2UINT(rb_ary_entry(row, 1))};
  }
}

/* ---- writing ---- */

/* Rows in C, in heap buffers that Ruby owns: they are freed even if something
 * raises. */
typedef struct {
  VALUE ranges, attempts, crashes;
} buffers_t;

static void *room_for(VALUE *buffer, size_t count, size_t size) {
  return rb_alloc_tmp_buffer_with_count(buffer, (count + 1) * size, count + 1);
}

typedef struct {
  pk_range_t *rows;
  size_t count;
  int64_t base;
} taken_t;

static bool count_range(void *context, int64_t from, int64_t to) {
  (*(size_t *)context)++;
  return true;
}

/* A commit below the ledger's offset keeps the runs above it. */
static bool take_range(void *context, int64_t from, int64_t to) {
  taken_t *taken = context;

  if (to <= taken->base) return true;
  if (from <= taken->base) from = taken->base + 1;
  if (from < to) taken->rows[taken->count++] = (pk_range_t){from, to};
  return true;
}

static void put_ranges(pk_envelope_t *envelope, VALUE source, buffers_t *buffers) {
  size_t count = 0;
  taken_t taken = {.base = envelope->base};

  if (pk_is_ledger(source)) {
    pk_ledger_ranges(pk_ledger_of(source), count_range, &count);
    taken.rows = room_for(&buffers->ranges, count, sizeof *taken.rows);
    pk_ledger_ranges(pk_ledger_of(source), take_range, &taken);
    envelope->range_count = taken.count;
  } else {
    Check_Type(source, T_ARRAY);
    envelope->range_count = (size_t)RARRAY_LEN(source);
    taken.rows = room_for(&buffers->ranges, envelope->range_count, sizeof *taken.rows);
    pk_fill_ranges(source, taken.rows, envelope->range_count);
  }
  envelope->ranges = taken.rows;
}

static const pk_attempt_t *counts_of(VALUE rows, VALUE *buffer, size_t *count) {
  pk_attempt_t *counts;

  Check_Type(rows, T_ARRAY);
  *count = (size_t)RARRAY_LEN(rows);
  counts = room_for(buffer, *count, sizeof *counts);
  fill_attempts(rows, counts, *count);
  return counts;
}

static VALUE packed(const pk_envelope_t *envelope) {
  char text[PK_ENVELOPE_MAX];
  size_t size;
  pk_left_out_t left_out;

  switch (pk_envelope_encode(envelope, text, &size, &left_out)) {
  case PK_ENVELOPE_OK:
    return rb_ary_new_from_args(4, rb_utf8_str_new(text, (long)size), ULL2NUM(left_out.offsets),
                                SIZET2NUM(left_out.attempts), SIZET2NUM(left_out.crashes));
  case PK_ENVELOPE_TOO_LARGE:
    rb_raise(rb_eArgError, "the user's metadata is longer than %d bytes", PK_ENVELOPE_USER_MAX);
  default:
    rb_raise(rb_eArgError, "ranges, attempts and crashes must ascend above the base, and the base not be negative");
  }
}

/* pack(base, cluster or nil, topic, clean, ranges or ledger, attempts, [unclean, crashes], user or nil, budget)
 * → [text, offsets left out, attempts left out, crashes left out] */
static VALUE envelope_pack(int argc, VALUE *argv, VALUE self) {
  pk_envelope_t envelope = {0};
  buffers_t buffers = {Qnil, Qnil, Qnil};
  VALUE text, user;

  rb_check_arity(argc, 9, 9);
  envelope.base = NUM2LL(argv[0]);
  envelope.place = place_of(argv[1], argv[2]);
  envelope.clean = RTEST(argv[3]);
  user = argv[7];
  if (!NIL_P(user)) Check_Type(user, T_STRING);
  envelope.budget = NUM2SIZET(argv[8]);
  if (!envelope.budget) envelope.budget = 1; /* none; 0 in C means the default */
  envelope.unclean = NUM2UINT(rb_ary_entry(pair_of(argv[6]), 0));
  envelope.attempts = counts_of(argv[5], &buffers.attempts, &envelope.attempt_count);
  envelope.crashes = counts_of(rb_ary_entry(argv[6], 1), &buffers.crashes, &envelope.crash_count);
  put_ranges(&envelope, argv[4], &buffers);
  envelope.user = NIL_P(user) ? NULL : RSTRING_PTR(user);
  envelope.user_size = NIL_P(user) ? 0 : (size_t)RSTRING_LEN(user);
  text = packed(&envelope);
  ALLOCV_END(buffers.ranges);
  ALLOCV_END(buffers.attempts);
  ALLOCV_END(buffers.crashes);
  RB_GC_GUARD(user);
  return text;
}

/* ---- reading ---- */

static VALUE status_symbol(pk_envelope_status_t status) {
  static const char *const names[] = {NULL, "foreign", "newer", "damaged", "other_offset", "other_topic"};

  return status == PK_ENVELOPE_OK ? Qnil : ID2SYM(rb_intern(names[status]));
}

static VALUE range_rows(const pk_decoded_t *decoded) {
  VALUE rows = rb_ary_new();
  pk_cursor_t cursor = {0};
  pk_range_t range;

  while (pk_envelope_next_range(decoded, &cursor, &range)) {
    rb_ary_push(rows, rb_assoc_new(LL2NUM(range.from), LL2NUM(range.to)));
  }
  return rows;
}

typedef bool (*next_count_fn)(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_attempt_t *attempt);

static VALUE count_rows(const pk_decoded_t *decoded, next_count_fn next) {
  VALUE rows = rb_ary_new();
  pk_cursor_t cursor = {0};
  pk_attempt_t count;

  while (next(decoded, &cursor, &count)) rb_ary_push(rows, rb_assoc_new(LL2NUM(count.offset), UINT2NUM(count.count)));
  return rows;
}

/* unpack(text, base, cluster or nil, topic)
 * → [reason or nil, clean, ranges, attempts, unclean owners, crashes, user or nil] */
static VALUE envelope_unpack(VALUE self, VALUE text, VALUE base, VALUE cluster, VALUE topic) {
  int64_t c_base = NUM2LL(base);
  uint32_t place = place_of(cluster, topic);
  pk_decoded_t decoded;
  pk_envelope_status_t status;
  VALUE user = Qnil;

  Check_Type(text, T_STRING);
  status = pk_envelope_decode(RSTRING_PTR(text), (size_t)RSTRING_LEN(text), c_base, place, &decoded);
  RB_GC_GUARD(text);
  if (status == PK_ENVELOPE_OK || status == PK_ENVELOPE_MOVED || status == PK_ENVELOPE_ELSEWHERE) {
    if (decoded.user) user = rb_utf8_str_new((const char *)decoded.user, (long)decoded.user_size);
  }
  if (status != PK_ENVELOPE_OK) memset(&decoded, 0, offsetof(pk_decoded_t, bytes));
  return rb_ary_new_from_args(7, status_symbol(status), decoded.clean ? Qtrue : Qfalse, range_rows(&decoded),
                              count_rows(&decoded, pk_envelope_next_attempt), UINT2NUM(decoded.unclean),
                              count_rows(&decoded, pk_envelope_next_crash), user);
}

void Init_pk_envelope(VALUE mNative) {
  VALUE mEnvelope = rb_define_module_under(mNative, "Envelope");

  rb_define_singleton_method(mEnvelope, "pack", envelope_pack, -1);
  rb_define_singleton_method(mEnvelope, "unpack", envelope_unpack, 4);
  rb_define_const(mEnvelope, "MAX_BYTES", INT2FIX(PK_ENVELOPE_MAX));
  rb_define_const(mEnvelope, "USER_MAX_BYTES", INT2FIX(PK_ENVELOPE_USER_MAX));
}
