/* Penstock::Native::Producer, the part that reports messages that a close could
 * not deliver. */
#include <string.h>

#include "rb_producing.h"

static pk_undelivered_list_t *undelivered_of(VALUE self) {
  pk_rproducer_t *producer = pk_rproducer_get(self);

  if (!producer->core) pk_raise_closed("producer");
  return &producer->core->undelivered;
}

/* count_undelivered(keep): from here on failed messages are counted, and kept
 * with true. */
static VALUE producer_count_undelivered(VALUE self, VALUE keep) {
  pk_rproducer_check(pk_rproducer_get(self));
  pk_undelivered_list_begin(undelivered_of(self), RTEST(keep));
  return Qnil;
}

/* undelivered → [failed, unknown]: certainly not stored; sent without an answer. */
static VALUE producer_undelivered(VALUE self) {
  pk_undelivered_list_t *undelivered = undelivered_of(self);
  uint64_t failed, unknown;

  if (pk_rproducer_get(self)->core->generation != pk_fork_generation()) return rb_assoc_new(INT2FIX(0), INT2FIX(0));
  pthread_mutex_lock(&undelivered->lock);
  failed = undelivered->failed;
  unknown = undelivered->unknown;
  pthread_mutex_unlock(&undelivered->lock);
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

static VALUE entry_array(VALUE pointer) {
  const pk_undelivered_t *entry = (const pk_undelivered_t *)pointer;

  return rb_ary_new_from_args(8, pk_utf8(entry->topic), bytes(entry->payload, entry->payload_size),
                              bytes(entry->key, entry->key_size), INT2NUM(entry->partition),
                              LL2NUM(entry->timestamp_ms),
                              entry->headers ? headers_hash(entry->headers) : Qnil, INT2NUM(entry->err),
                              pk_persisted_symbol(entry->persisted));
}

/* take_undelivered → nil, or the oldest one kept: [topic, payload, key,
 * partition, timestamp_ms, headers, number, persisted]. */
static VALUE producer_take_undelivered(VALUE self) {
  pk_undelivered_list_t *undelivered = undelivered_of(self);
  pk_undelivered_t *entry;
  VALUE row;
  int state = 0;

  if (pk_rproducer_get(self)->core->generation != pk_fork_generation()) return Qnil;
  if (!(entry = pk_undelivered_list_take(undelivered))) return Qnil;
  row = rb_protect(entry_array, (VALUE)entry, &state);
  pk_undelivered_free(entry);
  if (state) rb_jump_tag(state);
  return row;
}

void Init_pk_producer_undelivered(VALUE cProducer) {
  rb_define_method(cProducer, "count_undelivered", producer_count_undelivered, 1);
  rb_define_method(cProducer, "undelivered", producer_undelivered, 0);
  rb_define_method(cProducer, "take_undelivered", producer_take_undelivered, 0);
}
