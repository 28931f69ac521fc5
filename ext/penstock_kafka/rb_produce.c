/* Penstock::Native::Producer, the part that accepts messages.
 *
 * There are two ways. `dispatch` and `dispatch_slice` read message Hashes
 * themselves and only accept messages that are certainly valid; for all others
 * they return nil without sending anything, and Ruby checks them, reports
 * errors or converts values. `offer` takes one message in parts and returns
 * librdkafka's result.
 *
 * A single message is passed on with the GVL held: it is copied and queued,
 * which never blocks, and releasing the GVL would cost more. Many are in
 * produce_many.c. */
#include <string.h>

#include "rb_producing.h"
#include "rb_gvl_yield.h"

static VALUE sym_topic, sym_payload, sym_key, sym_partition, sym_timestamp, sym_headers, sym_label, sym_handle;

/* -- headers ---------------------------------------------------------------- */

static bool add_header(rd_kafka_headers_t *headers, VALUE name, VALUE value) {
  if (!NIL_P(value) && !RB_TYPE_P(value, T_STRING)) return false;
  return rd_kafka_header_add(headers, RSTRING_PTR(name), RSTRING_LEN(name), NIL_P(value) ? NULL : RSTRING_PTR(value),
                             NIL_P(value) ? 0 : RSTRING_LEN(value)) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

typedef struct {
  rd_kafka_headers_t *headers;
  bool valid;
} headers_t;

static int add_headers(VALUE name, VALUE value, VALUE argument) {
  headers_t *result = (headers_t *)argument;

  result->valid = RB_TYPE_P(name, T_STRING) && !memchr(RSTRING_PTR(name), 0, RSTRING_LEN(name));
  if (result->valid && RB_TYPE_P(value, T_ARRAY)) {
    for (long i = 0; result->valid && i < RARRAY_LEN(value); i++) {
      result->valid = add_header(result->headers, name, RARRAY_AREF(value, i));
    }
  } else if (result->valid) {
    result->valid = add_header(result->headers, name, value);
  }
  return result->valid ? ST_CONTINUE : ST_STOP;
}

/* False if a name or value isn't a String, or if a name has a NUL byte, up to
 * which consumers would read it. Nothing in here raises, so nothing
 * native is leaked. */
bool pk_build_headers(VALUE hash, rd_kafka_headers_t **headers) {
  headers_t result = {NULL, true};

  *headers = NULL;
  if (NIL_P(hash) || RHASH_SIZE(hash) == 0) return true;
  result.headers = rd_kafka_headers_new(RHASH_SIZE(hash));
  rb_hash_foreach(hash, add_headers, (VALUE)&result);
  if (result.valid) {
    *headers = result.headers;
  } else {
    rd_kafka_headers_destroy(result.headers);
  }
  return result.valid;
}

/* -- reading a message Hash ------------------------------------------------- */

static pk_topic_t *known_topic(pk_rproducer_t *producer, VALUE topic) {
  VALUE index;

  if (!RB_TYPE_P(topic, T_STRING) && !RB_SYMBOL_P(topic)) return NULL;
  index = rb_hash_lookup2(producer->topics, topic, Qnil);
  return NIL_P(index) ? NULL : producer->core->topics[FIX2LONG(index)];
}

static bool fitting_int(VALUE value, int64_t min, int64_t max, int64_t *into) {
  if (!RB_FIXNUM_P(value)) return false;
  *into = FIX2LONG(value);
  return *into >= min && *into <= max;
}

/* Reads one optional part of a message; true if it is present and valid. */
static bool read_optional(VALUE message, VALUE name, pk_parts_t *parts) {
  VALUE value = rb_hash_lookup2(message, name, Qundef);
  int64_t number;

  if (value == Qundef) return false;
  if (name == sym_key) {
    parts->key = value;
    return NIL_P(value) || (RB_TYPE_P(value, T_STRING) && RSTRING_LEN(value) > 0);
  }
  if (name == sym_partition) {
    if (!fitting_int(value, -1, INT32_MAX, &number)) return false;
    parts->partition = (int32_t)number;
    return true;
  }
  if (name == sym_timestamp) return fitting_int(value, 1, INT64_MAX, &parts->timestamp_ms);
  if (name == sym_headers) {
    parts->headers = value;
    return RB_TYPE_P(value, T_HASH);
  }
  if (name == sym_label) {
    parts->label = value;
    return parts->labelled = true;
  }
  parts->handle = value == Qtrue;
  return value == Qtrue || value == Qfalse;
}

/* The number of optional parts found is compared with the rest of the Hash, so
 * an unknown key, or an invalid part, makes it false. Ordered by frequency: for
 * most messages the search ends after one. */
static bool read_options(VALUE message, size_t left, pk_parts_t *parts) {
  const VALUE names[] = {sym_key, sym_handle, sym_headers, sym_partition, sym_timestamp, sym_label};

  for (size_t i = 0; left > 0 && i < sizeof names / sizeof *names; i++) {
    if (read_optional(message, names[i], parts)) left--;
  }
  return left == 0;
}

bool pk_read_message(pk_rproducer_t *producer, VALUE message, pk_parts_t *parts) {
  if (!RB_TYPE_P(message, T_HASH) || RHASH_SIZE(message) < 2) return false;
  *parts = (pk_parts_t){.key = Qnil, .headers = Qnil, .label = Qnil, .handle = true, .partition = RD_KAFKA_PARTITION_UA};
  if (!(parts->topic = known_topic(producer, rb_hash_lookup2(message, sym_topic, Qnil)))) return false;
  parts->payload = rb_hash_lookup2(message, sym_payload, Qundef);
  if (parts->payload == Qundef) return false;
  if (!NIL_P(parts->payload)) {
    if (!RB_TYPE_P(parts->payload, T_STRING)) return false;
    if ((size_t)RSTRING_LEN(parts->payload) > producer->max_payload_bytes) return false;
  }
  return read_options(message, RHASH_SIZE(message) - 2, parts);
}

/* -- one message ------------------------------------------------------------ */

/* The producer keeps a label whose report has a listener until that report is
 * taken; the message's own handle may be gone by then. */
static uint64_t keep_label(pk_rproducer_t *producer, const pk_parts_t *parts) {
  if (!parts->labelled || !pk_reports_wanted(&producer->core->reports, PK_WANT_DELIVERED | PK_WANT_FAILED)) return 0;
  rb_hash_aset(producer->labels, ULL2NUM(++producer->last_label), parts->label);
  return producer->last_label;
}

/* A handle that Ruby never sees still has the label. */
VALUE pk_parts_delivery(VALUE self, pk_rproducer_t *producer, const pk_parts_t *parts, pk_delivery_t **delivery) {
  VALUE object;

  *delivery = NULL;
  if (!parts->handle && !parts->labelled) return Qtrue;
  object = pk_delivery_new(self, parts->topic, parts->label, delivery);
  (*delivery)->label = keep_label(producer, parts);
  return object;
}

static const void *bytes_of(VALUE string) {
  return NIL_P(string) ? NULL : RSTRING_PTR(string);
}

size_t pk_size_of(VALUE string) {
  return NIL_P(string) ? 0 : (size_t)RSTRING_LEN(string);
}

void pk_fill_message(const pk_parts_t *parts, pk_delivery_t *delivery, pk_message_t *message) {
  message->topic = parts->topic;
  message->payload = bytes_of(parts->payload);
  message->payload_size = pk_size_of(parts->payload);
  message->key = bytes_of(parts->key);
  message->key_size = pk_size_of(parts->key);
  message->partition = parts->partition;
  message->timestamp_ms = parts->timestamp_ms;
  message->delivery = delivery;
}

/* Qundef if the headers are invalid, Qnil with *err set if it was refused. */
static VALUE send_parts(VALUE self, pk_rproducer_t *producer, const pk_parts_t *parts, rd_kafka_resp_err_t *err) {
  pk_message_t message;
  pk_delivery_t *delivery;
  VALUE object = pk_parts_delivery(self, producer, parts, &delivery);

  if (!pk_build_headers(parts->headers, &message.headers)) {
    if (delivery) pk_label_take(producer, delivery->label);
    return Qundef;
  }
  pk_fill_message(parts, delivery, &message);
  *err = pk_producer_send(producer->core, &message);
  if (*err) {
    if (message.headers) rd_kafka_headers_destroy(message.headers);
    if (delivery) pk_label_take(producer, delivery->label);
    return Qnil;
  }
  RB_GC_GUARD(object);
  return parts->handle ? object : Qtrue;
}

/* The reporter may produce while reports wait, since they wait for it. */
bool pk_held_back(pk_rproducer_t *producer) {
  return pk_reports_full(&producer->core->reports) && producer->reporter != rb_thread_current();
}

/* dispatch(message) → Delivery, true (handle: false), or nil: check it in Ruby. */
static VALUE producer_dispatch(VALUE self, VALUE message) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  rd_kafka_resp_err_t err;
  pk_parts_t parts;
  VALUE result;

  pk_gvl_offer(); /* nothing was read yet */
  if (!pk_rproducer_usable(producer) || !pk_read_message(producer, message, &parts) || pk_held_back(producer)) return Qnil;
  if (!pk_rproducer_usable(producer)) return Qnil; /* the eql? of a user's String subclass may be Ruby code */
  result = send_parts(self, producer, &parts, &err);
  RB_GC_GUARD(message);
  return result == Qundef ? Qnil : result;
}

static VALUE utf8_frozen(VALUE string) {
  return rb_str_new_frozen(rb_enc_str_new(RSTRING_PTR(string), RSTRING_LEN(string), rb_utf8_encoding()));
}

/* Enters the handle here, where no Ruby runs any more: reading the arguments
 * may have run some, in which another thread may have closed the producer. */
static pk_topic_t *make_topic(pk_rproducer_t *producer, pk_topic_wish_t *wish, VALUE name) {
  pk_topic_t *topic;

  pk_enter(&producer->core->handle, "producer");
  topic = pk_producer_topic(producer->core, wish);
  pk_handle_leave(&producer->core->handle);
  if (!topic) pk_raise(wish->err, *wish->error ? wish->error : NULL);
  rb_ary_store(producer->names, (long)topic->index, name);
  return topic;
}

/* open_topic(name): registers the topic for `dispatch`. Raises KafkaError. */
static VALUE producer_open_topic(VALUE self, VALUE name) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  pk_topic_wish_t wish = {.count = 0};
  VALUE index, frozen;

  StringValueCStr(name);
  pk_rproducer_check(producer);
  if (known_topic(producer, name)) return Qnil;
  frozen = utf8_frozen(name);
  wish.key = wish.name = RSTRING_PTR(frozen);
  index = LONG2FIX((long)make_topic(producer, &wish, frozen)->index);
  rb_hash_aset(producer->topics, frozen, index);
  rb_hash_aset(producer->topics, rb_to_symbol(frozen), index);
  return Qnil;
}

static int push_property(VALUE name, VALUE value, VALUE flat) {
  rb_ary_push(flat, pk_own_text(name));
  rb_ary_push(flat, pk_own_text(value));
  return ST_CONTINUE;
}

static VALUE pair_strings(VALUE properties) {
  VALUE flat = rb_ary_new();

  Check_Type(properties, T_HASH);
  rb_hash_foreach(properties, push_property, flat);
  return flat;
}

#define MAX_TOPIC_PROPERTIES 32

/* open_topic_with(key, name, properties): registers the topic under another
 * key, with properties in addition to the client's. Raises KafkaError;
 * `conflict` if it is in use with other properties. */
static VALUE producer_open_topic_with(VALUE self, VALUE key, VALUE name, VALUE properties) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  const char *pairs[2 * MAX_TOPIC_PROPERTIES];
  VALUE own_key = pk_own_text(key), own_name = pk_own_text(name), flat = pair_strings(properties);
  VALUE frozen_key = utf8_frozen(own_key), frozen_name = utf8_frozen(own_name);
  pk_topic_wish_t wish = {.key = RSTRING_PTR(frozen_key), .name = RSTRING_PTR(frozen_name), .pairs = pairs};

  pk_rproducer_check(producer);
  if (known_topic(producer, own_key)) return Qnil;
  wish.count = (size_t)RARRAY_LEN(flat) / 2;
  if (wish.count > MAX_TOPIC_PROPERTIES) rb_raise(rb_eArgError, "too many properties");
  for (size_t i = 0; i < 2 * wish.count; i++) pairs[i] = RSTRING_PTR(RARRAY_AREF(flat, (long)i));
  rb_hash_aset(producer->topics, frozen_key, LONG2FIX((long)make_topic(producer, &wish, frozen_name)->index));
  RB_GC_GUARD(flat);
  return Qnil;
}

static void read_offer(pk_rproducer_t *producer, VALUE *arguments, pk_parts_t *parts) {
  *parts = (pk_parts_t){.payload = arguments[1], .key = arguments[2], .headers = arguments[5], .label = arguments[7]};
  if (!(parts->topic = known_topic(producer, arguments[0]))) rb_raise(rb_eArgError, "the topic isn't open");
  if (!NIL_P(parts->payload)) StringValue(parts->payload);
  if (!NIL_P(parts->key)) StringValue(parts->key);
  parts->partition = NIL_P(arguments[3]) ? RD_KAFKA_PARTITION_UA : NUM2INT(arguments[3]);
  parts->timestamp_ms = NIL_P(arguments[4]) ? 0 : NUM2LL(arguments[4]);
  if (!NIL_P(parts->headers)) Check_Type(parts->headers, T_HASH);
  parts->handle = RTEST(arguments[6]);
  parts->labelled = !NIL_P(parts->label);
}

/* offer(topic, payload, key, partition, timestamp_ms, headers, handle, label) →
 * Delivery, true, or nil if the queue is full. Raises KafkaError. */
static VALUE producer_offer(int argc, VALUE *argv, VALUE self) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
  pk_parts_t parts;
  VALUE result;

  rb_check_arity(argc, 8, 8);
  pk_rproducer_check(producer);
  read_offer(producer, argv, &parts);
  pk_rproducer_check(producer); /* a to_str or to_int may have closed it; no Ruby runs from here on */
  if (pk_held_back(producer)) return Qnil;
  result = send_parts(self, producer, &parts, &err);
  if (result == Qundef) rb_raise(rb_eArgError, "headers must be Strings");
  if (err && err != RD_KAFKA_RESP_ERR__QUEUE_FULL) pk_raise(err, NULL);
  return result;
}

/* -- partitioners ----------------------------------------------------------- */

typedef int32_t (*partitioner_t)(const rd_kafka_topic_t *, const void *, size_t, int32_t, void *, void *);

static const struct {
  const char *name;
  partitioner_t call;
} partitioners[] = {
    {"consistent", rd_kafka_msg_partitioner_consistent},
    {"consistent_random", rd_kafka_msg_partitioner_consistent},
    {"murmur2", rd_kafka_msg_partitioner_murmur2},
    {"murmur2_random", rd_kafka_msg_partitioner_murmur2},
    {"fnv1a", rd_kafka_msg_partitioner_fnv1a},
    {"fnv1a_random", rd_kafka_msg_partitioner_fnv1a},
};

/* Producer.partition_for(partitioner, key, count) → the partition of a key that
 * isn't empty, so the behaviour of the *_random ones without a key doesn't
 * matter; -1 for `random`. */
static VALUE producer_partition_for(VALUE klass, VALUE name, VALUE key, VALUE count) {
  VALUE wanted = pk_own_text(name);
  int partitions = NUM2INT(count);

  StringValue(key);
  if (partitions < 1) rb_raise(rb_eArgError, "no partitions to choose from");
  for (size_t i = 0; i < sizeof partitioners / sizeof *partitioners; i++) {
    if (strcmp(partitioners[i].name, RSTRING_PTR(wanted)) != 0) continue;
    return INT2NUM(partitioners[i].call(NULL, RSTRING_PTR(key), RSTRING_LEN(key), partitions, NULL, NULL));
  }
  return INT2FIX(RD_KAFKA_PARTITION_UA);
}

void Init_pk_produce(VALUE cProducer) {
  sym_topic = ID2SYM(rb_intern("topic"));
  sym_payload = ID2SYM(rb_intern("payload"));
  sym_key = ID2SYM(rb_intern("key"));
  sym_partition = ID2SYM(rb_intern("partition"));
  sym_timestamp = ID2SYM(rb_intern("timestamp"));
  sym_headers = ID2SYM(rb_intern("headers"));
  sym_label = ID2SYM(rb_intern("label"));
  sym_handle = ID2SYM(rb_intern("handle"));
  rb_define_singleton_method(cProducer, "partition_for", producer_partition_for, 3);
  rb_define_method(cProducer, "dispatch", producer_dispatch, 1);
  rb_define_method(cProducer, "open_topic", producer_open_topic, 1);
  rb_define_method(cProducer, "open_topic_with", producer_open_topic_with, 3);
  rb_define_method(cProducer, "offer", producer_offer, -1);
}
