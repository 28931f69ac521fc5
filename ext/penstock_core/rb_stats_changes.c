/* Penstock::Native::StatsChanges.call(current, previous, elapsed, names): see native/stats_changes.rb. */
#include "penstock_core.h"

typedef struct {
  VALUE previous, elapsed, names, pending;
} changes_t;

static void add_changes(VALUE current, changes_t *changes);

static bool number_p(VALUE value) { return RB_INTEGER_TYPE_P(value) || RB_FLOAT_TYPE_P(value); }

/* A Hash must not grow during its iteration, so its numbers are collected first. */
static int collect(VALUE key, VALUE value, VALUE context) {
  changes_t *changes = (changes_t *)context;

  if (number_p(value)) {
    rb_ary_push(changes->pending, value);
    rb_ary_push(changes->pending, key);
  } else if (RB_TYPE_P(value, T_HASH)) {
    changes_t inner = *changes;

    inner.previous = rb_hash_lookup(changes->previous, key);
    add_changes(value, &inner);
  }
  return ST_CONTINUE;
}

static VALUE interned_name(VALUE key, const char *suffix) {
  VALUE name = rb_str_cat_cstr(rb_str_dup(StringValue(key)), suffix);

  return rb_str_to_interned_str(name);
}

/* They are the same for every partition and every emission. */
static VALUE names_of(VALUE key, VALUE names) {
  VALUE found = rb_hash_lookup(names, key);

  if (!NIL_P(found)) return found;
  found = rb_ary_freeze(rb_assoc_new(interned_name(key, "_d"), interned_name(key, "_fd")));
  rb_hash_aset(names, key, found);
  return found;
}

static VALUE difference(VALUE value, VALUE before) {
  if (FIXNUM_P(value) && FIXNUM_P(before)) return LONG2NUM(FIX2LONG(value) - FIX2LONG(before));
  return rb_funcall(value, '-', 1, before);
}

static VALUE sum(VALUE unchanged, VALUE elapsed) {
  if (FIXNUM_P(unchanged) && FIXNUM_P(elapsed)) return LONG2NUM(FIX2LONG(unchanged) + FIX2LONG(elapsed));
  return number_p(unchanged) ? rb_funcall(unchanged, '+', 1, elapsed) : elapsed; /* a listener may have removed it */
}

static void add_change(VALUE current, VALUE key, VALUE value, const changes_t *changes) {
  VALUE names = names_of(key, changes->names), before = rb_hash_lookup(changes->previous, key);
  VALUE change = INT2FIX(0), unchanged = INT2FIX(0);

  if (number_p(before)) {
    change = difference(value, before);
    if (RTEST(rb_equal(change, INT2FIX(0))))
      unchanged = sum(rb_hash_lookup(changes->previous, RARRAY_AREF(names, 1)), changes->elapsed);
  }
  rb_hash_aset(current, RARRAY_AREF(names, 0), change);
  rb_hash_aset(current, RARRAY_AREF(names, 1), unchanged);
}

static void add_changes(VALUE current, changes_t *changes) {
  long base = RARRAY_LEN(changes->pending);

  if (!RB_TYPE_P(changes->previous, T_HASH)) changes->previous = rb_hash_new();
  rb_hash_foreach(current, collect, (VALUE)changes);
  while (RARRAY_LEN(changes->pending) > base) {
    VALUE key = rb_ary_pop(changes->pending), value = rb_ary_pop(changes->pending);

    add_change(current, key, value, changes);
  }
  RB_GC_GUARD(changes->previous);
}

static VALUE stats_changes_call(VALUE self, VALUE current, VALUE previous, VALUE elapsed, VALUE names) {
  changes_t changes = {.previous = previous, .elapsed = elapsed, .names = names, .pending = rb_ary_new()};

  Check_Type(current, T_HASH);
  Check_Type(names, T_HASH);
  add_changes(current, &changes);
  RB_GC_GUARD(changes.pending);
  return current;
}

void Init_pk_stats_changes(VALUE mNative) {
  VALUE mChanges = rb_define_module_under(mNative, "StatsChanges");

  rb_define_singleton_method(mChanges, "call", stats_changes_call, 4);
}
