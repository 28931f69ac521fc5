/* Penstock::Native::Batch: copied records of one take, independent of the
 * consumer. Every method runs with the GVL; it ends with release! or garbage
 * collection. */
#include "rb_binding.h"

static ID id_batch, id_index, id_cursor;
static VALUE eReleased;
static VALUE sym_create, sym_append, sym_none;

/* ---- memory ---- */

static void batch_mark(void *ptr) {
  pk_rb_batch_t *batch = ptr;

  rb_gc_mark(batch->topic);
  rb_gc_mark(batch->context);
}

static void batch_drop(pk_rb_batch_t *batch) {
  if (batch->reported) rb_gc_adjust_memory_usage(-(ssize_t)batch->reported);
  batch->reported = 0;
  pk_batch_free(&batch->core);
  batch->released = true;
}

static void batch_free(void *ptr) {
  batch_drop(ptr);
  xfree(ptr);
}

static size_t batch_size(const void *ptr) {
  const pk_rb_batch_t *batch = ptr;

  return sizeof *batch + pk_batch_footprint(&batch->core);
}

const rb_data_type_t pk_batch_type = {
    .wrap_struct_name = "Penstock::Native::Batch",
    .function = {.dmark = batch_mark, .dfree = batch_free, .dsize = batch_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE cBatch;

VALUE pk_batch_for(VALUE lane) {
  pk_rb_lane_t *from = pk_lane_of(lane);
  pk_rb_batch_t *batch;
  VALUE self = TypedData_Make_Struct(cBatch, pk_rb_batch_t, &pk_batch_type, batch);

  pk_batch_init(&batch->core);
  batch->context = Qnil;
  batch->topic = Qnil;
  batch->partition = from->core->partition;
  RB_OBJ_WRITE(self, &batch->topic, from->topic);
  return self;
}

pk_rb_batch_t *pk_batch_of(VALUE self) {
  return rb_check_typeddata(self, &pk_batch_type);
}

void pk_batch_account(pk_rb_batch_t *batch) {
  batch->reported = pk_batch_footprint(&batch->core);
  if (batch->reported) rb_gc_adjust_memory_usage((ssize_t)batch->reported);
}

NORETURN(static void batch_raise_released(const pk_rb_batch_t *batch));
static void batch_raise_released(const pk_rb_batch_t *batch) {
  rb_raise(eReleased, "the batch of %" PRIsVALUE "/%d has been released: copy the data you need before the batch ends",
           batch->topic, (int)batch->partition);
}

static const pk_record_t *batch_record(const pk_rb_batch_t *batch, long index) {
  if (batch->released) batch_raise_released(batch);
  if (index < 0 || index >= (long)batch->core.count) {
    rb_raise(rb_eIndexError, "record %ld of a batch of %u", index, batch->core.count);
  }
  return &batch->core.records[index];
}

static const pk_record_t *batch_record_at(VALUE self, VALUE index) {
  return batch_record(pk_batch_of(self), NUM2LONG(index));
}

/* ---- the batch ---- */

static VALUE batch_get_size(VALUE self) {
  return UINT2NUM(pk_batch_of(self)->core.count);
}

static VALUE batch_topic(VALUE self) {
  return pk_batch_of(self)->topic;
}

static VALUE batch_partition(VALUE self) {
  return INT2NUM(pk_batch_of(self)->partition);
}

static VALUE batch_from(VALUE self) {
  return LL2NUM(pk_batch_of(self)->core.from);
}

static VALUE batch_to(VALUE self) {
  return LL2NUM(pk_batch_of(self)->core.to);
}

static VALUE batch_bytes(VALUE self) {
  return SIZET2NUM(pk_batch_of(self)->core.bytes);
}

static VALUE batch_eof(VALUE self) {
  int64_t eof = pk_batch_of(self)->core.eof;

  return eof == PK_NONE ? Qnil : LL2NUM(eof);
}

static VALUE batch_error(VALUE self) {
  const pk_batch_t *core = &pk_batch_of(self)->core;

  return core->error ? rb_ary_new_from_args(2, INT2NUM(core->error), pk_utf8(core->error_message)) : Qnil;
}

static VALUE batch_full_p(VALUE self) {
  return pk_batch_of(self)->core.full ? Qtrue : Qfalse;
}

static VALUE batch_released_p(VALUE self) {
  return pk_batch_of(self)->released ? Qtrue : Qfalse;
}

/* Frees the records now instead of at the next garbage collection. */
static VALUE batch_release(VALUE self) {
  batch_drop(pk_batch_of(self));
  return Qnil;
}

static VALUE batch_context(VALUE self) {
  return pk_batch_of(self)->context;
}

static VALUE batch_set_context(VALUE self, VALUE context) {
  RB_OBJ_WRITE(self, &pk_batch_of(self)->context, context);
  return context;
}

/* ---- one record ---- */

static VALUE frozen_bytes(const char *bytes, int32_t size) {
  VALUE string;

  if (!bytes) return Qnil;
  string = rb_str_new(bytes, size);
  RB_OBJ_FREEZE(string);
  return string;
}

static VALUE batch_offset(VALUE self, VALUE index) {
  return LL2NUM(batch_record_at(self, index)->offset);
}

static VALUE batch_timestamp(VALUE self, VALUE index) {
  return LL2NUM(batch_record_at(self, index)->timestamp);
}

static VALUE batch_timestamp_type(VALUE self, VALUE index) {
  switch (batch_record_at(self, index)->timestamp_type) {
  case RD_KAFKA_TIMESTAMP_CREATE_TIME:
    return sym_create;
  case RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME:
    return sym_append;
  default:
    return sym_none;
  }
}

static VALUE batch_leader_epoch(VALUE self, VALUE index) {
  return INT2NUM(batch_record_at(self, index)->leader_epoch);
}

static VALUE batch_payload(VALUE self, VALUE index) {
  const pk_record_t *record = batch_record_at(self, index);

  return frozen_bytes(pk_record_payload(record), record->payload_size);
}

/* Like payload, flagged as UTF-8 without validation: for parsers, which
 * validate it themselves and would copy a string with any other encoding. */
static VALUE batch_text(VALUE self, VALUE index) {
  const pk_record_t *record = batch_record_at(self, index);
  const char *bytes = pk_record_payload(record);

  return bytes ? rb_str_freeze(rb_utf8_str_new(bytes, record->payload_size)) : Qnil;
}

static VALUE batch_key(VALUE self, VALUE index) {
  const pk_record_t *record = batch_record_at(self, index);

  return frozen_bytes(pk_record_key(record), record->key_size);
}

static VALUE batch_bytesize(VALUE self, VALUE index) {
  return SIZET2NUM(pk_record_bytes(batch_record_at(self, index)));
}

static VALUE header_value(const pk_header_t *header) {
  return header->value ? rb_str_freeze(rb_utf8_str_new(header->value, header->value_size)) : Qnil;
}

/* A second value for a name makes an Array of both; the order is kept. */
static void headers_add(VALUE headers, VALUE name, VALUE value) {
  VALUE present = rb_hash_lookup2(headers, name, Qundef);

  if (present == Qundef) {
    rb_hash_aset(headers, name, value);
  } else if (RB_TYPE_P(present, T_ARRAY)) {
    rb_ary_push(present, value);
  } else {
    rb_hash_aset(headers, name, rb_ary_new_from_args(2, present, value));
  }
}

static int headers_freeze_array(VALUE name, VALUE value, VALUE unused) {
  if (RB_TYPE_P(value, T_ARRAY)) rb_obj_freeze(value);
  return ST_CONTINUE;
}

/* Names are interned: a topic has few of them, but many records. */
static VALUE batch_headers(VALUE self, VALUE index) {
  const pk_record_t *record = batch_record_at(self, index);
  const char *position = NULL;
  pk_header_t header;
  VALUE headers;

  if (record->headers_count == 0) return Qnil;
  headers = rb_hash_new();
  while (pk_record_next_header(record, &position, &header)) {
    VALUE name = rb_enc_interned_str(header.name, header.name_size, rb_utf8_encoding());

    headers_add(headers, name, header_value(&header));
  }
  rb_hash_foreach(headers, headers_freeze_array, Qnil);
  RB_GC_GUARD(self);
  return rb_obj_freeze(headers);
}

/* ---- many records ---- */

/* The first index and the last index + 1 of a loop. */
static void batch_range(const pk_rb_batch_t *batch, VALUE first, VALUE count, long range[2]) {
  long from = NUM2LONG(first), number = NUM2LONG(count), size = (long)batch->core.count;

  if (from < 0 || number < 0 || from > size || number > size - from) {
    rb_raise(rb_eIndexError, "%ld records from %ld on, of a batch of %ld", number, from, size);
  }
  range[0] = from;
  range[1] = from + number;
}

/* Yields a new instance of klass for each record: a plain object that knows its
 * batch and its index; @memo, the third ivar that fits into the object itself,
 * belongs to the view and is not set. Before each yield the owner's @cursor is
 * set to the record being processed, so that a rescued error can be attributed
 * to it. */
static VALUE batch_each_view(VALUE self, VALUE klass, VALUE owner, VALUE first, VALUE count) {
  pk_rb_batch_t *batch = pk_batch_of(self);
  rb_alloc_func_t allocate = rb_get_alloc_func(klass);
  long range[2];

  if (!allocate) rb_raise(rb_eTypeError, "%" PRIsVALUE " can't be allocated", klass);
  batch_range(batch, first, count, range);
  for (long i = range[0]; i < range[1]; i++) {
    VALUE view;

    if (batch->released) batch_raise_released(batch);
    view = allocate(klass);
    rb_ivar_set(view, id_batch, self);
    rb_ivar_set(view, id_index, LONG2FIX(i));
    if (!NIL_P(owner)) rb_ivar_set(owner, id_cursor, LONG2FIX(i));
    rb_yield(view);
  }
  return self;
}

static VALUE batch_raw_payloads(VALUE self, VALUE first, VALUE count) {
  pk_rb_batch_t *batch = pk_batch_of(self);
  long range[2];
  VALUE payloads;

  if (batch->released) batch_raise_released(batch);
  batch_range(batch, first, count, range);
  payloads = rb_ary_new_capa(range[1] - range[0]);
  for (long i = range[0]; i < range[1]; i++) {
    const pk_record_t *record = &batch->core.records[i];

    rb_ary_push(payloads, frozen_bytes(pk_record_payload(record), record->payload_size));
  }
  return payloads;
}

static VALUE batch_each_raw(VALUE self, VALUE first, VALUE count) {
  pk_rb_batch_t *batch = pk_batch_of(self);
  long range[2];

  batch_range(batch, first, count, range);
  for (long i = range[0]; i < range[1]; i++) {
    const pk_record_t *record = batch_record(batch, i);

    rb_yield(frozen_bytes(pk_record_payload(record), record->payload_size));
  }
  return self;
}

/* Each record's offset, for a ledger that needs all of them. */
static VALUE batch_offsets(VALUE self) {
  pk_rb_batch_t *batch = pk_batch_of(self);
  VALUE offsets;

  if (batch->released) batch_raise_released(batch);
  offsets = rb_ary_new_capa(batch->core.count);
  for (uint32_t i = 0; i < batch->core.count; i++) rb_ary_push(offsets, LL2NUM(batch->core.records[i].offset));
  return offsets;
}

/* True when the offsets are consecutive, as they are unless the topic is
 * compacted or transactional. */
static VALUE batch_contiguous_p(VALUE self) {
  const pk_batch_t *core = &pk_batch_of(self)->core;

  if (core->count == 0) return Qtrue;
  return batch_record(pk_batch_of(self), 0)->offset + core->count == core->to ? Qtrue : Qfalse;
}

static void batch_define_records(void) {
  rb_define_method(cBatch, "offset", batch_offset, 1);
  rb_define_method(cBatch, "timestamp", batch_timestamp, 1);
  rb_define_method(cBatch, "timestamp_type", batch_timestamp_type, 1);
  rb_define_method(cBatch, "leader_epoch", batch_leader_epoch, 1);
  rb_define_method(cBatch, "payload", batch_payload, 1);
  rb_define_method(cBatch, "text", batch_text, 1);
  rb_define_method(cBatch, "key", batch_key, 1);
  rb_define_method(cBatch, "headers", batch_headers, 1);
  rb_define_method(cBatch, "bytesize", batch_bytesize, 1);
  rb_define_method(cBatch, "each_view", batch_each_view, 4);
  rb_define_method(cBatch, "raw_payloads", batch_raw_payloads, 2);
  rb_define_method(cBatch, "each_raw", batch_each_raw, 2);
  rb_define_method(cBatch, "offsets", batch_offsets, 0);
  rb_define_method(cBatch, "contiguous?", batch_contiguous_p, 0);
}

static void batch_define(void) {
  rb_define_method(cBatch, "size", batch_get_size, 0);
  rb_define_method(cBatch, "topic", batch_topic, 0);
  rb_define_method(cBatch, "partition", batch_partition, 0);
  rb_define_method(cBatch, "from", batch_from, 0);
  rb_define_method(cBatch, "to", batch_to, 0);
  rb_define_method(cBatch, "bytes", batch_bytes, 0);
  rb_define_method(cBatch, "eof", batch_eof, 0);
  rb_define_method(cBatch, "error", batch_error, 0);
  rb_define_method(cBatch, "full?", batch_full_p, 0);
  rb_define_method(cBatch, "context", batch_context, 0);
  rb_define_method(cBatch, "context=", batch_set_context, 1);
  rb_define_method(cBatch, "release!", batch_release, 0);
  rb_define_method(cBatch, "released?", batch_released_p, 0);
}

void Init_pk_batch(VALUE mNative) {
  eReleased = rb_define_class_under(mNative, "ReleasedError", rb_eStandardError);
  rb_include_module(eReleased, rb_path2class("Penstock::Error"));
  cBatch = rb_define_class_under(mNative, "Batch", rb_cObject);
  rb_undef_alloc_func(cBatch);
  batch_define();
  batch_define_records();
  id_batch = rb_intern("@batch");
  id_index = rb_intern("@index");
  id_cursor = rb_intern("@cursor");
  sym_create = ID2SYM(rb_intern("create"));
  sym_append = ID2SYM(rb_intern("append"));
  sym_none = ID2SYM(rb_intern("none"));
}
