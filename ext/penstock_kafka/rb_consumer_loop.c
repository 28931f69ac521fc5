/* Consumer: the calls of one round of the poll loop: events, lanes, takes,
 * offsets. */
#include "rb_binding.h"
#include "core/committed.h"
#include "rb_nogvl.h"

typedef struct {
  VALUE self;
  pk_consumer_t *core;
  VALUE argument;
} inside_t;

static VALUE inside_end(VALUE ptr) {
  pk_loop_leave(((inside_t *)ptr)->core);
  return Qnil;
}

/* Runs body inside the loop, and leaves the loop even if body raises. */
static VALUE inside(VALUE self, VALUE argument, VALUE (*body)(VALUE)) {
  inside_t call = {self, pk_consumer_of(self), argument};

  pk_loop_check(pk_loop_enter(call.core), call.core);
  return rb_ensure(body, (VALUE)&call, inside_end, (VALUE)&call);
}

static VALUE poll_event_body(VALUE ptr) {
  inside_t *call = (inside_t *)ptr;
  rd_kafka_event_t *event = pk_consumer_poll_event(call->core);

  return event ? pk_event_value(call->core, event) : pk_next_committed_value(call->core);
}

static VALUE consumer_poll_event(VALUE self) {
  return inside(self, Qnil, poll_event_body);
}

static VALUE consumer_pending_rebalances(VALUE self) {
  return SIZET2NUM(pk_consumer_of(self)->pending_count);
}

static VALUE lane_body(VALUE ptr) {
  inside_t *call = (inside_t *)ptr;
  VALUE topic = rb_ary_entry(call->argument, 0);
  int partition = NUM2INT(rb_ary_entry(call->argument, 1));
  pk_lane_t *lane = pk_consumer_lane(call->core, StringValueCStr(topic), partition);

  if (!lane) pk_raise(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, "the partition can't get a queue of its own");
  return pk_lane_wrap(call->self, lane);
}

static VALUE consumer_lane(VALUE self, VALUE topic, VALUE partition) {
  return inside(self, rb_ary_new_from_args(2, topic, partition), lane_body);
}

static VALUE ready_lanes_body(VALUE ptr) {
  inside_t *call = (inside_t *)ptr;
  VALUE ids = call->argument;
  pk_lane_t *lane = pk_hub_collect(&call->core->hub);

  while (lane) {
    pk_lane_t *next = pk_hub_next(lane);

    if (lane->state == PK_LANE_OPEN) rb_ary_push(ids, UINT2NUM(lane->id));
    pk_lane_unref(lane);
    lane = next;
  }
  return ids;
}

static VALUE consumer_ready_lanes(VALUE self) {
  return inside(self, rb_ary_new(), ready_lanes_body);
}

static VALUE commit_body(VALUE ptr) {
  inside_t *call = (inside_t *)ptr;
  intptr_t token = (intptr_t)NUM2LL(rb_ary_entry(call->argument, 0));
  rd_kafka_topic_partition_list_t *offsets = pk_list_from_values(rb_ary_entry(call->argument, 1));
  rd_kafka_resp_err_t err = pk_consumer_commit(call->core, offsets, (void *)token);

  rd_kafka_topic_partition_list_destroy(offsets);
  if (err) pk_raise(err, "the commit was refused");
  return Qtrue;
}

static VALUE consumer_commit(VALUE self, VALUE token, VALUE offsets) {
  return inside(self, rb_ary_new_from_args(2, token, offsets), commit_body);
}

/* [token, list, timeout_ms] */
static VALUE fetch_committed_body(VALUE ptr) {
  inside_t *call = (inside_t *)ptr;
  intptr_t token = (intptr_t)NUM2LL(rb_ary_entry(call->argument, 0));
  int timeout_ms = NUM2INT(rb_ary_entry(call->argument, 2));
  rd_kafka_topic_partition_list_t *list = pk_list_from_values(rb_ary_entry(call->argument, 1));

  pk_loop_check(pk_consumer_fetch_committed(call->core, list, timeout_ms, token), call->core);
  return Qtrue;
}

static VALUE consumer_fetch_committed(VALUE self, VALUE token, VALUE list, VALUE timeout_ms) {
  return inside(self, rb_ary_new_from_args(3, token, list, timeout_ms), fetch_committed_body);
}

/* ---- taking ---- */

typedef struct {
  pk_lane_t *lane;
  uint32_t max_records;
  size_t max_bytes;
  pk_rb_batch_t *batch;
} take_entry_t;

typedef struct {
  pk_consumer_t *core;
  int entered;
  long count;
  take_entry_t *entries;
} take_args_t;

static void *take_safe(void *ptr) {
  take_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  for (long i = 0; i < args->count; i++) {
    take_entry_t *entry = &args->entries[i];

    pk_lane_take(entry->lane, entry->max_records, entry->max_bytes, &entry->batch->core);
  }
  pk_loop_leave(args->core);
  return args;
}

pk_lane_t *pk_own_lane(VALUE consumer, VALUE value) {
  pk_rb_lane_t *lane = pk_lane_of(value);

  if (lane->consumer != consumer) rb_raise(rb_eArgError, "the lane belongs to another consumer");
  return lane->core;
}

static void take_entry_read(VALUE self, const VALUE *triple, take_entry_t *entry, VALUE batches) {
  VALUE batch;

  entry->lane = pk_own_lane(self, triple[0]);
  entry->max_records = NUM2UINT(triple[1]);
  entry->max_bytes = NUM2SIZET(triple[2]);
  batch = pk_batch_for(triple[0]);
  entry->batch = pk_batch_of(batch);
  rb_ary_push(batches, batch);
}

/* Nothing here can raise: Ruby owns the batches, and the Array has its final
 * size. */
static void take_finish(take_args_t *args, VALUE batches) {
  for (long i = 0; i < args->count; i++) {
    pk_rb_batch_t *batch = args->entries[i].batch;

    if (pk_batch_empty(&batch->core)) {
      rb_ary_store(batches, i, Qnil);
    } else {
      pk_batch_account(batch);
    }
  }
}

/* Flat triples: lane, most records, most bytes. Ruby owns the batches before
 * the first record leaves librdkafka; interrupts are checked before that, and
 * by the caller once it has them. */
static VALUE consumer_take(VALUE self, VALUE triples) {
  take_args_t args = {.core = pk_consumer_of(self)};
  VALUE batches, holder;

  Check_Type(triples, T_ARRAY);
  if (RARRAY_LEN(triples) % 3) rb_raise(rb_eArgError, "expected triples of lane, most records, most bytes");
  triples = rb_ary_dup(triples); /* the caller's Array may change while the GVL is released */
  args.count = RARRAY_LEN(triples) / 3;
  batches = rb_ary_new_capa(args.count);
  args.entries = ALLOCV_N(take_entry_t, holder, args.count ? args.count : 1);
  for (long i = 0; i < args.count; i++) {
    take_entry_read(self, RARRAY_CONST_PTR(triples) + 3 * i, &args.entries[i], batches);
  }
  pk_without_gvl(take_safe, &args, NULL, NULL);
  take_finish(&args, batches);
  ALLOCV_END(holder);
  RB_GC_GUARD(triples);
  pk_loop_check(args.entered, args.core);
  return batches;
}

typedef struct {
  pk_consumer_t *core;
  int entered;
  long count;
  pk_lane_t **lanes;
} touch_args_t;

static void *touch_safe(void *ptr) {
  touch_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  for (long i = 0; i < args->count; i++) pk_lane_touch(args->lanes[i]);
  pk_loop_leave(args->core);
  return args;
}

static VALUE consumer_touch(VALUE self, VALUE lanes) {
  touch_args_t args = {.core = pk_consumer_of(self)};
  VALUE holder;

  Check_Type(lanes, T_ARRAY);
  lanes = rb_ary_dup(lanes);
  args.count = RARRAY_LEN(lanes);
  args.lanes = ALLOCV_N(pk_lane_t *, holder, args.count ? args.count : 1);
  for (long i = 0; i < args.count; i++) args.lanes[i] = pk_own_lane(self, RARRAY_AREF(lanes, i));
  pk_without_gvl(touch_safe, &args, NULL, NULL);
  ALLOCV_END(holder);
  RB_GC_GUARD(lanes);
  pk_loop_check(args.entered, args.core);
  return Qnil;
}

void Init_pk_consumer_loop(VALUE cConsumer) {
  rb_define_method(cConsumer, "poll_event", consumer_poll_event, 0);
  rb_define_method(cConsumer, "pending_rebalances", consumer_pending_rebalances, 0);
  rb_define_method(cConsumer, "lane", consumer_lane, 2);
  rb_define_method(cConsumer, "ready_lanes", consumer_ready_lanes, 0);
  rb_define_method(cConsumer, "take", consumer_take, 1);
  rb_define_method(cConsumer, "touch", consumer_touch, 1);
  rb_define_method(cConsumer, "commit", consumer_commit, 2);
  rb_define_private_method(cConsumer, "request_committed", consumer_fetch_committed, 3);
}
