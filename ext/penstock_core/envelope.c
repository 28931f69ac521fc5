/* Penstock::Native::Envelope.pack and unpack, see core/envelope.h. Rows in, rows
 * out; what they mean to the framework is said in native/envelope.rb. */
#include "penstock_core.h"

#include "core/envelope.h"
#include "ledger.h"

static uint32_t place_of(VALUE cluster, VALUE topic) {
  if (!NIL_P(cluster)) Check_Type(cluster, T_STRING);
  Check_Type(topic, T_STRING);
  return pk_envelope_place(NIL_P(cluster) ? "" : RSTRING_PTR(cluster),
                           NIL_P(cluster) ? 0 : (size_t)RSTRING_LEN(cluster), RSTRING_PTR(topic),
                           (size_t)RSTRING_LEN(topic));
}

static VALUE pair_at(VALUE rows, long index) {
  VALUE row = rb_ary_entry(rows, index);

  Check_Type(row, T_ARRAY);
  if (RARRAY_LEN(row) != 2) rb_raise(rb_eArgError, "a pair has two numbers");
  return row;
}

/* Arrays from ALLOCV belong to Ruby: whatever raises, they are collected. */
void pk_fill_ranges(VALUE rows, pk_range_t *ranges) {
  for (long i = 0; i < RARRAY_LEN(rows); i++) {
    VALUE row = pair_at(rows, i);

    ranges[i] = (pk_range_t){NUM2LL(rb_ary_entry(row, 0)), NUM2LL(rb_ary_entry(row, 1))};
  }
}

static void fill_attempts(VALUE rows, pk_attempt_t *attempts) {
  for (long i = 0; i < RARRAY_LEN(rows); i++) {
    VALUE row = pair_at(rows, i);

    attempts[i] = (pk_attempt_t){NUM2LL(rb_ary_entry(row, 0)), NUM2UINT(rb_ary_entry(row, 1))};
  }
}

static VALUE packed(const pk_envelope_t *envelope) {
  char text[PK_ENVELOPE_MAX];
  size_t size;

  switch (pk_envelope_encode(envelope, text, &size)) {
  case PK_ENVELOPE_OK:
    return rb_utf8_str_new(text, (long)size);
  case PK_ENVELOPE_TOO_LARGE:
    return Qnil;
  default:
    rb_raise(rb_eArgError, "ranges and attempts must ascend above the base, and the base not be negative");
  }
}

/* pack(base, cluster or nil, topic, clean, ranges, attempts, user or nil) → text, or nil when it is too large. */
static VALUE envelope_pack(VALUE self, VALUE base, VALUE cluster, VALUE topic, VALUE clean, VALUE ranges,
                           VALUE attempts, VALUE user) {
  pk_envelope_t envelope = {.clean = RTEST(clean), .base = NUM2LL(base), .place = place_of(cluster, topic)};
  VALUE range_buffer = Qnil, attempt_buffer = Qnil, text;
  pk_range_t *range_rows;
  pk_attempt_t *attempt_rows;

  Check_Type(ranges, T_ARRAY);
  Check_Type(attempts, T_ARRAY);
  if (!NIL_P(user)) Check_Type(user, T_STRING);
  envelope.range_count = (size_t)RARRAY_LEN(ranges);
  envelope.attempt_count = (size_t)RARRAY_LEN(attempts);
  range_rows = ALLOCV_N(pk_range_t, range_buffer, envelope.range_count + 1);
  attempt_rows = ALLOCV_N(pk_attempt_t, attempt_buffer, envelope.attempt_count + 1);
  pk_fill_ranges(ranges, range_rows);
  fill_attempts(attempts, attempt_rows);
  envelope.ranges = range_rows;
  envelope.attempts = attempt_rows;
  envelope.user = NIL_P(user) ? NULL : RSTRING_PTR(user);
  envelope.user_size = NIL_P(user) ? 0 : (size_t)RSTRING_LEN(user);
  text = packed(&envelope);
  ALLOCV_END(range_buffer);
  ALLOCV_END(attempt_buffer);
  RB_GC_GUARD(user);
  return text;
}

static VALUE status_symbol(pk_envelope_status_t status) {
  static const char *const names[] = {NULL, "foreign", "newer", "damaged", "other_offset", "other_topic"};

  return status == PK_ENVELOPE_OK ? Qnil : ID2SYM(rb_intern(names[status]));
}

static VALUE range_rows(const pk_decoded_t *decoded) {
  VALUE rows = rb_ary_new();
  pk_cursor_t cursor = {0, 0};
  pk_range_t range;

  while (pk_envelope_next_range(decoded, &cursor, &range)) {
    rb_ary_push(rows, rb_assoc_new(LL2NUM(range.from), LL2NUM(range.to)));
  }
  return rows;
}

static VALUE attempt_rows(const pk_decoded_t *decoded) {
  VALUE rows = rb_ary_new();
  pk_cursor_t cursor = {0, 0};
  pk_attempt_t attempt;

  while (pk_envelope_next_attempt(decoded, &cursor, &attempt)) {
    rb_ary_push(rows, rb_assoc_new(LL2NUM(attempt.offset), UINT2NUM(attempt.count)));
  }
  return rows;
}

/* unpack(text, base, cluster or nil, topic) → [reason or nil, clean, ranges, attempts, user or nil] */
static VALUE envelope_unpack(VALUE self, VALUE text, VALUE base, VALUE cluster, VALUE topic) {
  int64_t c_base = NUM2LL(base);
  uint32_t place = place_of(cluster, topic);
  pk_decoded_t decoded;
  pk_envelope_status_t status;
  bool honoured, whole;

  Check_Type(text, T_STRING);
  status = pk_envelope_decode(RSTRING_PTR(text), (size_t)RSTRING_LEN(text), c_base, place, &decoded);
  honoured = status == PK_ENVELOPE_OK;
  whole = honoured || status == PK_ENVELOPE_MOVED || status == PK_ENVELOPE_ELSEWHERE;
  return rb_ary_new_from_args(
      5, status_symbol(status), honoured && decoded.clean ? Qtrue : Qfalse,
      honoured ? range_rows(&decoded) : rb_ary_new(), honoured ? attempt_rows(&decoded) : rb_ary_new(),
      whole && decoded.user ? rb_utf8_str_new((const char *)decoded.user, (long)decoded.user_size) : Qnil);
}

void Init_pk_envelope(VALUE mNative) {
  VALUE mEnvelope = rb_define_module_under(mNative, "Envelope");

  rb_define_singleton_method(mEnvelope, "pack", envelope_pack, 7);
  rb_define_singleton_method(mEnvelope, "unpack", envelope_unpack, 4);
  rb_define_const(mEnvelope, "MAX_BYTES", INT2FIX(PK_ENVELOPE_MAX));
  rb_define_const(mEnvelope, "USER_MAX_BYTES", INT2FIX(PK_ENVELOPE_USER_MAX));
}
