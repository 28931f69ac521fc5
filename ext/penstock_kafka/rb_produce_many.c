/* Penstock::Native::Producer, the part that accepts many messages at once: in
 * slices, each copied into memory of its own with the GVL held, then sent
 * without it. */
#include <stdlib.h>
#include <string.h>

#include "rb_nogvl.h"
#include "rb_producing.h"

#define SLICE_MESSAGES 1024
#define SLICE_BYTES (1024 * 1024)

static bool plain(pk_rproducer_t *producer, VALUE message) {
  rd_kafka_headers_t *headers = NULL;
  pk_parts_t parts;

  if (!pk_read_message(producer, message, &parts) || !pk_build_headers(parts.headers, &headers)) return false;
  if (headers) rd_kafka_headers_destroy(headers);
  return true;
}

/* plain_message?(message) → whether dispatch accepts it. */
static VALUE producer_plain_message_p(VALUE self, VALUE message) {
  pk_rproducer_t *producer = pk_rproducer_get(self);

  pk_rproducer_check(producer);
  return plain(producer, message) ? Qtrue : Qfalse;
}

/* plain?(messages) → whether dispatch_slice accepts all of them. */
static VALUE producer_plain_p(VALUE self, VALUE messages) {
  pk_rproducer_t *producer = pk_rproducer_get(self);

  Check_Type(messages, T_ARRAY);
  pk_rproducer_check(producer);
  for (long i = 0; i < RARRAY_LEN(messages); i++) {
    if (!plain(producer, RARRAY_AREF(messages, i))) return Qfalse;
  }
  return Qtrue;
}

/* A run of messages in memory of its own, without Ruby objects. */
typedef struct {
  pk_producer_t *producer;
  pk_message_t *messages;
  char *bytes;
  size_t count, sent;
  rd_kafka_resp_err_t err;
} slice_t;

/* Leaves the handle itself, without the GVL, which a close may hold. */
static void *slice_safe(void *pointer) {
  slice_t *slice = pointer;

  while (slice->sent < slice->count) {
    slice->err = pk_producer_send(slice->producer, &slice->messages[slice->sent]);
    if (slice->err) break;
    slice->sent++;
  }
  pk_handle_leave(&slice->producer->handle);
  return pointer;
}

static const void *copy_bytes(char **end, const void *bytes, size_t size) {
  char *start = *end;

  if (!bytes) return NULL;
  memcpy(start, bytes, size);
  *end += size;
  return start;
}

/* How many messages from `from` on make a slice: at least one, at most 1,024
 * and, except for the first, 1 MiB. Creates their deliveries, the only part
 * that allocates in Ruby, and so the only one that can raise. */
static size_t prepare_slice(VALUE self, VALUE messages, long from, bool handles, VALUE objects, pk_parts_t *all,
                            pk_delivery_t **deliveries) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  size_t count = 0, bytes = 0;

  for (; count < SLICE_MESSAGES && from + (long)count < RARRAY_LEN(messages); count++) {
    pk_parts_t *parts = &all[count];
    size_t size;

    if (!pk_read_message(producer, RARRAY_AREF(messages, from + (long)count), parts)) break;
    size = pk_size_of(parts->payload) + pk_size_of(parts->key);
    if (count > 0 && bytes + size > SLICE_BYTES) break;
    bytes += size;
    parts->handle = handles;
    rb_ary_push(objects, pk_parts_delivery(self, producer, parts, &deliveries[count]));
  }
  return count;
}

/* Nothing between here and the end of the slice raises, or runs Ruby. Strings
 * read before may be longer by now: reading the next message may have run the
 * eql? of a topic's name, and other threads. So sizes are measured here. */
static void copy_slice(slice_t *slice, const pk_parts_t *all, pk_delivery_t **deliveries, size_t count) {
  size_t bytes = 1;
  char *end;

  for (size_t i = 0; i < count; i++) bytes += pk_size_of(all[i].payload) + pk_size_of(all[i].key);
  slice->messages = malloc((count + 1) * sizeof *slice->messages);
  slice->bytes = end = malloc(bytes);
  if (!slice->messages || !slice->bytes) abort();
  for (size_t i = 0; i < count; i++) {
    pk_message_t *message = &slice->messages[i];

    if (!pk_build_headers(all[i].headers, &message->headers)) break;
    pk_fill_message(&all[i], deliveries[i], message);
    message->payload = copy_bytes(&end, message->payload, message->payload_size);
    message->key = copy_bytes(&end, message->key, message->key_size);
    slice->count++;
  }
}

/* Frees messages that weren't sent. */
static void end_slice(pk_rproducer_t *producer, slice_t *slice, pk_delivery_t **deliveries, size_t prepared) {
  for (size_t i = slice->sent; i < slice->count; i++) {
    if (slice->messages[i].headers) rd_kafka_headers_destroy(slice->messages[i].headers);
  }
  free(slice->messages);
  free(slice->bytes);
  for (size_t i = slice->sent; i < prepared; i++) {
    if (deliveries[i]) pk_label_take(producer, deliveries[i]->label);
  }
}

typedef struct {
  pk_parts_t parts[SLICE_MESSAGES];
  pk_delivery_t *deliveries[SLICE_MESSAGES];
} scratch_t;

/* dispatch_slice(messages, from, handles, accepted) → error number, 0 if all of
 * the slice was accepted. Adds a Delivery (or true) to `accepted` for each
 * accepted message, at most 1,024; the caller continues from there. */
static VALUE producer_dispatch_slice(VALUE self, VALUE messages, VALUE from, VALUE handles, VALUE accepted) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  long before, first = NUM2LONG(from);
  slice_t slice = {.producer = producer->core};
  VALUE holder;
  scratch_t *scratch;
  size_t count;

  Check_Type(messages, T_ARRAY);
  Check_Type(accepted, T_ARRAY);
  pk_rproducer_check(producer);
  if (pk_held_back(producer)) return INT2FIX(RD_KAFKA_RESP_ERR__QUEUE_FULL);
  before = RARRAY_LEN(accepted);
  scratch = rb_alloc_tmp_buffer(&holder, sizeof *scratch);
  count = prepare_slice(self, messages, first, RTEST(handles), accepted, scratch->parts, scratch->deliveries);
  copy_slice(&slice, scratch->parts, scratch->deliveries, count);
  if (pk_handle_enter(&producer->core->handle) == 0) pk_without_gvl_noraise(slice_safe, &slice);
  if (!slice.err && slice.sent < count) slice.err = RD_KAFKA_RESP_ERR__INVALID_ARG;
  if (count == 0 && first < RARRAY_LEN(messages)) slice.err = RD_KAFKA_RESP_ERR__INVALID_ARG;
  end_slice(producer, &slice, scratch->deliveries, count);
  while (RARRAY_LEN(accepted) > before + (long)slice.sent) rb_ary_pop(accepted);
  rb_free_tmp_buffer(&holder);
  return INT2NUM(slice.err);
}

void Init_pk_produce_many(VALUE cProducer) {
  rb_define_method(cProducer, "plain_message?", producer_plain_message_p, 1);
  rb_define_method(cProducer, "plain?", producer_plain_p, 1);
  rb_define_method(cProducer, "dispatch_slice", producer_dispatch_slice, 4);
}
