/* Penstock::Native::Producer, the part that reports messages that a close could
 * not deliver. */
#include <string.h>

#include "producing.h"

static pk_leftovers_t *leftovers_of(VALUE self) {
  pk_rproducer_t *producer = pk_rproducer_get(self);

  if (!producer->core) pk_raise_closed("producer");
  return &producer->core->leftovers;
}

/* count_undelivered(keep): from here on failed messages are counted, and kept
 * with true. */
static VALUE producer_count_undelivered(VALUE self, VALUE keep) {
  pk_rproducer_check(pk_rproducer_get(self));
  pk_leftovers_begin(leftovers_of(self), RTEST(keep));
  return Qnil;
}

/* undelivered → [failed, unknown]: certainly not stored; sent without an answer. */
static VALUE producer_undelivered(VALUE self) {
  pk_leftovers_t *leftovers = leftovers_of(self);
  uint64_t failed, unknown;

  if (pk_rproducer_get(self)->core->generation != pk_fork_generation()) return rb_assoc_new(INT2FIX(0), INT2FIX(0));
  pthread_mutex_lock(&leftovers->lock);
  failed = leftovers->failed;
  unknown = leftovers->unknown;
  pthread_mutex_unlock(&leftovers->lock);
  return rb_assoc_new(ULL2NUM(failed), ULL2NUM(unknown));
}

static VALUE bytes(const void *data, size_t size) {
  return data ? rb_str_new(data, (long)size) : Qnil;
}

/* If a name occurs several times, its values are an Array. */
static void add_header(VALUE hash, VALUE name, VALUE value) {
  VALUE before = rb_hash_lookup2(hash, name, Qundef);

  if (before == Qundef) {
    rb_hash_aset(hash, name, value);
  } else if (RB_TYPE_P(before, T_ARRAY)) {
    rb_ary_push(before, value);
  } else {
    rb_hash_aset(hash, name, rb_assoc_new(before, value));
  }
}

static VALUE headers_hash(const rd_kafka_headers_t *headers) {
  VALUE hash = rb_hash_new();
  const char *name;
  const void *value;
  size_t size;

  for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
    add_header(hash, pk_utf8(name), bytes(value, size));
  }
  return hash;
}

static VALUE leftover_array(VALUE pointer) {
  const pk_leftover_t *leftover = (const pk_leftover_t *)pointer;

  return rb_ary_new_from_args(8, pk_utf8(leftover->topic), bytes(leftover->payload, leftover->payload_size),
                              bytes(leftover->key, leftover->key_size), INT2NUM(leftover->partition),
                              LL2NUM(leftover->timestamp_ms),
                              leftover->headers ? headers_hash(leftover->headers) : Qnil, INT2NUM(leftover->err),
                              pk_persisted_symbol(leftover->persisted));
}

/* take_undelivered → nil, or the oldest one kept: [topic, payload, key,
 * partition, timestamp_ms, headers, number, persisted]. */
static VALUE producer_take_undelivered(VALUE self) {
  pk_leftovers_t *leftovers = leftovers_of(self);
  pk_leftover_t *leftover;
  VALUE row;
  int state = 0;

  if (pk_rproducer_get(self)->core->generation != pk_fork_generation()) return Qnil;
  if (!(leftover = pk_leftovers_take(leftovers))) return Qnil;
  row = rb_protect(leftover_array, (VALUE)leftover, &state);
  pk_leftover_free(leftover);
  if (state) rb_jump_tag(state);
  return row;
}

void Init_pk_producer_leftovers(VALUE cProducer) {
  rb_define_method(cProducer, "count_undelivered", producer_count_undelivered, 1);
  rb_define_method(cProducer, "undelivered", producer_undelivered, 0);
  rb_define_method(cProducer, "take_undelivered", producer_take_undelivered, 0);
}
