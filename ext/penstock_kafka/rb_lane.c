/* Penstock::Native::Lane: one assigned partition. Created by Consumer#lane; the
 * consumer's calls fill and empty it. */
#include "rb_binding.h"

static VALUE cLane;

static void lane_mark(void *ptr) {
  pk_rb_lane_t *lane = ptr;

  rb_gc_mark(lane->topic);
  rb_gc_mark(lane->consumer);
}

/* The consumer's list holds a reference of its own while the lane is open, so
 * nothing of librdkafka is freed here, whether the lane or the list is swept first. */
static void lane_free(void *ptr) {
  pk_rb_lane_t *lane = ptr;

  if (lane->core) pk_lane_unref(lane->core);
  xfree(lane);
}

static size_t lane_size(const void *ptr) {
  const pk_rb_lane_t *lane = ptr;

  return sizeof *lane + (lane->core ? sizeof *lane->core : 0);
}

const rb_data_type_t pk_lane_type = {
    .wrap_struct_name = "Penstock::Native::Lane",
    .function = {.dmark = lane_mark, .dfree = lane_free, .dsize = lane_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

pk_rb_lane_t *pk_lane_of(VALUE self) {
  return rb_check_typeddata(self, &pk_lane_type);
}

VALUE pk_lane_wrap(VALUE consumer, pk_lane_t *core) {
  pk_rb_lane_t *lane;
  VALUE self = TypedData_Make_Struct(cLane, pk_rb_lane_t, &pk_lane_type, lane);

  lane->topic = lane->consumer = Qnil;
  lane->core = core;
  RB_OBJ_WRITE(self, &lane->consumer, consumer);
  RB_OBJ_WRITE(self, &lane->topic, rb_enc_interned_str_cstr(core->topic, rb_utf8_encoding()));
  return self;
}

static VALUE lane_id(VALUE self) {
  return UINT2NUM(pk_lane_of(self)->core->id);
}

static VALUE lane_topic(VALUE self) {
  return pk_lane_of(self)->topic;
}

static VALUE lane_partition(VALUE self) {
  return INT2NUM(pk_lane_of(self)->core->partition);
}

static VALUE lane_cursor(VALUE self) {
  return LL2NUM(pk_lane_of(self)->core->cursor);
}

static VALUE lane_set_cursor(VALUE self, VALUE offset) {
  pk_lane_of(self)->core->cursor = NUM2LL(offset);
  return offset;
}

static VALUE lane_closed_p(VALUE self) {
  return pk_lane_of(self)->core->state == PK_LANE_OPEN ? Qfalse : Qtrue;
}

/* Queued records and other entries, stale ones included: for metrics, not for
 * decisions. */
static VALUE lane_length(VALUE self) {
  pk_rb_lane_t *lane = pk_lane_of(self);
  pk_consumer_t *consumer = pk_consumer_of(lane->consumer);
  size_t length = 0;

  if (pk_handle_enter(&consumer->handle)) return INT2FIX(0);
  if (lane->core->state == PK_LANE_OPEN) length = rd_kafka_queue_length(lane->core->queue) + lane->core->held.count;
  pk_handle_leave(&consumer->handle);
  return SIZET2NUM(length);
}

/* With the GVL: dropping stale records doesn't block. A closed or inherited
 * consumer has already released its lanes. */
static VALUE lane_close(VALUE self) {
  pk_rb_lane_t *lane = pk_lane_of(self);
  pk_consumer_t *consumer = pk_consumer_of(lane->consumer);
  int result = pk_loop_enter(consumer);

  if (result == PK_E_BUSY) pk_loop_check(result, consumer);
  if (result) return Qnil;
  pk_consumer_close_lane(consumer, lane->core);
  pk_loop_leave(consumer);
  return Qnil;
}

void Init_pk_lane(VALUE mNative) {
  cLane = rb_define_class_under(mNative, "Lane", rb_cObject);
  rb_undef_alloc_func(cLane);
  rb_define_method(cLane, "id", lane_id, 0);
  rb_define_method(cLane, "topic", lane_topic, 0);
  rb_define_method(cLane, "partition", lane_partition, 0);
  rb_define_method(cLane, "cursor", lane_cursor, 0);
  rb_define_method(cLane, "cursor=", lane_set_cursor, 1);
  rb_define_method(cLane, "closed?", lane_closed_p, 0);
  rb_define_method(cLane, "length", lane_length, 0);
  rb_define_method(cLane, "close", lane_close, 0);
}
