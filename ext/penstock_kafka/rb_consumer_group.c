/* Consumer: membership, which is everything that uses librdkafka's main thread.
 * It answers without the network, but may be busy (statistics): so these calls
 * run without the GVL, and are never abandoned half-way. */
#include "rb_binding.h"
#include "rb_group_metadata.h"
#include "rb_nogvl.h"
#include "rb_token.h"

typedef struct {
  pk_consumer_t *core;
  int entered;
  bool answered;
  rd_kafka_topic_partition_list_t *list;
  pk_failure_t failure;
} answer_args_t;

static void *answer_safe(void *ptr) {
  answer_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  args->answered = pk_consumer_answer(args->core, args->list, &args->failure);
  pk_loop_leave(args->core);
  return args;
}

/* Answers the oldest rebalance event, with exactly its partitions, or with the
 * given list: [[topic, partition, offset], …]. */
static VALUE consumer_answer(int argc, VALUE *argv, VALUE self) {
  answer_args_t args = {.core = pk_consumer_of(self)};
  VALUE list;

  rb_scan_args(argc, argv, "01", &list);
  if (!NIL_P(list)) args.list = pk_list_from_values(list);
  pk_without_gvl_noraise(answer_safe, &args);
  if (args.list) rd_kafka_topic_partition_list_destroy(args.list);
  pk_loop_check(args.entered, args.core);
  return pk_failure_value(&args.failure);
}

typedef struct {
  pk_consumer_t *core;
  int entered;
  pk_lane_t *lane;
  int64_t offset;
  int32_t leader_epoch;
  pk_failure_t failure;
} seek_args_t;

static void *seek_safe(void *ptr) {
  seek_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  pk_consumer_seek(args->core, args->lane, args->offset, args->leader_epoch, &args->failure);
  pk_loop_leave(args->core);
  return args;
}

static VALUE consumer_seek(int argc, VALUE *argv, VALUE self) {
  seek_args_t args = {.core = pk_consumer_of(self), .leader_epoch = PK_NONE};
  VALUE lane, offset, epoch;

  rb_scan_args(argc, argv, "21", &lane, &offset, &epoch);
  args.lane = pk_own_lane(self, lane);
  args.offset = NUM2LL(offset);
  if (!NIL_P(epoch)) args.leader_epoch = NUM2INT(epoch);
  pk_without_gvl_noraise(seek_safe, &args);
  RB_GC_GUARD(lane);
  pk_loop_check(args.entered, args.core);
  return pk_failure_value(&args.failure);
}

/* ---- subscription ---- */

typedef struct {
  pk_consumer_t *core;
  int entered;
  const rd_kafka_topic_partition_list_t *topics; /* NULL: none */
  rd_kafka_resp_err_t err;
} subscribe_args_t;

static void *subscribe_safe(void *ptr) {
  subscribe_args_t *args = ptr;
  rd_kafka_t *rk = args->core->handle.rk;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  if (args->core->close_begun) {
    args->err = RD_KAFKA_RESP_ERR__DESTROY;
  } else {
    args->err = args->topics ? rd_kafka_subscribe(rk, args->topics) : rd_kafka_unsubscribe(rk);
  }
  pk_loop_leave(args->core);
  return args;
}

static VALUE subscribe_finish(VALUE self, subscribe_args_t *args) {
  pk_loop_check(args->entered, args->core);
  if (args->err) pk_raise(args->err, NULL);
  return self;
}

/* @param topics [Array<String>] names; one that begins with ^ is a pattern */
static VALUE consumer_subscribe(VALUE self, VALUE topics) {
  subscribe_args_t args = {.core = pk_consumer_of(self)};
  VALUE names = rb_ary_new();
  rd_kafka_topic_partition_list_t *list;

  Check_Type(topics, T_ARRAY);
  for (long i = 0; i < RARRAY_LEN(topics); i++) rb_ary_push(names, pk_own_text(RARRAY_AREF(topics, i)));
  args.topics = list = rd_kafka_topic_partition_list_new((int)RARRAY_LEN(names));
  for (long i = 0; i < RARRAY_LEN(names); i++) {
    rd_kafka_topic_partition_list_add(list, RSTRING_PTR(RARRAY_AREF(names, i)), RD_KAFKA_PARTITION_UA);
  }
  RB_GC_GUARD(names);
  pk_without_gvl_noraise(subscribe_safe, &args);
  rd_kafka_topic_partition_list_destroy(list);
  return subscribe_finish(self, &args);
}

static VALUE consumer_unsubscribe(VALUE self) {
  subscribe_args_t args = {.core = pk_consumer_of(self)};

  pk_without_gvl_noraise(subscribe_safe, &args);
  return subscribe_finish(self, &args);
}

/* ---- direct assignment ---- */

typedef struct {
  pk_consumer_t *core;
  int entered;
  void (*change)(pk_consumer_t *, const rd_kafka_topic_partition_list_t *, pk_failure_t *);
  rd_kafka_topic_partition_list_t *list;
  pk_failure_t failure;
} assign_args_t;

static void *assign_safe(void *ptr) {
  assign_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  args->change(args->core, args->list, &args->failure);
  pk_loop_leave(args->core);
  return args;
}

static VALUE assign_run(assign_args_t *args, VALUE partitions) {
  args->list = pk_list_from_values(partitions);
  pk_without_gvl_noraise(assign_safe, args);
  rd_kafka_topic_partition_list_destroy(args->list);
  pk_loop_check(args->entered, args->core);
  return pk_failure_value(&args->failure);
}

/* Adds partitions without a group: [[topic, partition, offset], …]. nil, or
 * [number, message] if librdkafka refuses them. */
static VALUE consumer_assign(VALUE self, VALUE partitions) {
  assign_args_t args = {.core = pk_consumer_of(self), .change = pk_consumer_assign};

  return assign_run(&args, partitions);
}

/* Removes partitions that were added in this way: [[topic, partition], …]. The
 * result is that of assign; if one of them isn't assigned, none is removed. */
static VALUE consumer_unassign(VALUE self, VALUE partitions) {
  assign_args_t args = {.core = pk_consumer_of(self), .change = pk_consumer_unassign};

  return assign_run(&args, partitions);
}

/* ---- cached values ----
 *
 * Not available once the close has begun: librdkafka drops requests without an
 * answer after the end of the group. */

typedef struct {
  pk_consumer_t *core;
  int entered;
  char *member_id;
  const char *protocol;
  rd_kafka_topic_partition_list_t *assignment;
  rd_kafka_consumer_group_metadata_t *metadata;
} facts_args_t;

static void *member_id_safe(void *ptr) {
  facts_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  if (!args->core->close_begun) args->member_id = rd_kafka_memberid(args->core->handle.rk);
  pk_loop_leave(args->core);
  return args;
}

static void *protocol_safe(void *ptr) {
  facts_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  if (!args->core->close_begun) args->protocol = rd_kafka_rebalance_protocol(args->core->handle.rk);
  pk_loop_leave(args->core);
  return args;
}

static void *assignment_safe(void *ptr) {
  facts_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  if (!args->core->close_begun) rd_kafka_assignment(args->core->handle.rk, &args->assignment);
  pk_loop_leave(args->core);
  return args;
}

static void *group_metadata_safe(void *ptr) {
  facts_args_t *args = ptr;

  args->entered = pk_loop_enter(args->core);
  if (args->entered) return args;
  if (!args->core->close_begun) args->metadata = rd_kafka_consumer_group_metadata(args->core->handle.rk);
  pk_loop_leave(args->core);
  return args;
}

/* The current generation, for offsets in a transaction: read on the loop,
 * passed to the code that needs it. nil once the close has begun. */
static VALUE consumer_group_metadata(VALUE self) {
  facts_args_t args = {.core = pk_consumer_of(self)};

  pk_without_gvl_noraise(group_metadata_safe, &args);
  pk_loop_check(args.entered, args.core);
  return args.metadata ? pk_group_metadata_wrap(args.metadata) : Qnil;
}

/* Empty if the broker has removed the member: then its lanes are lost, even
 * while assignment_lost? is still false because a revocation is pending. */
static VALUE consumer_member_id(VALUE self) {
  facts_args_t args = {.core = pk_consumer_of(self)};
  VALUE id;

  pk_without_gvl_noraise(member_id_safe, &args);
  pk_loop_check(args.entered, args.core);
  id = pk_utf8(args.member_id);
  if (args.member_id) rd_kafka_mem_free(NULL, args.member_id);
  return id;
}

static VALUE consumer_rebalance_protocol(VALUE self) {
  facts_args_t args = {.core = pk_consumer_of(self)};

  pk_without_gvl_noraise(protocol_safe, &args);
  pk_loop_check(args.entered, args.core);
  return pk_utf8(args.protocol);
}

static VALUE consumer_assignment(VALUE self) {
  facts_args_t args = {.core = pk_consumer_of(self)};
  VALUE values;

  pk_without_gvl_noraise(assignment_safe, &args);
  pk_loop_check(args.entered, args.core);
  values = pk_list_values(args.assignment);
  if (args.assignment) rd_kafka_topic_partition_list_destroy(args.assignment);
  return values;
}

static VALUE consumer_assignment_lost_p(VALUE self) {
  pk_consumer_t *core = pk_consumer_of(self);
  bool lost;

  pk_loop_check(pk_handle_enter(&core->handle), core);
  lost = rd_kafka_assignment_lost(core->handle.rk);
  pk_handle_leave(&core->handle);
  return lost ? Qtrue : Qfalse;
}

/* From the last fetch; sends no request. */
static VALUE consumer_cached_watermarks(VALUE self, VALUE topic, VALUE partition) {
  pk_consumer_t *core = pk_consumer_of(self);
  VALUE name = pk_own_text(topic);
  int32_t number = NUM2INT(partition);
  int64_t low = PK_NO_OFFSET, high = PK_NO_OFFSET;

  pk_loop_check(pk_handle_enter(&core->handle), core);
  if (rd_kafka_get_watermark_offsets(core->handle.rk, RSTRING_PTR(name), number, &low, &high)) low = high = PK_NO_OFFSET;
  pk_handle_leave(&core->handle);
  RB_GC_GUARD(name);
  return rb_ary_new_from_args(2, LL2NUM(low), LL2NUM(high));
}

/* ---- OAuth ---- */

/* Token, lifetime as Unix time in ms, principal, extensions. nil, or [number,
 * message] if librdkafka refuses it. */
static VALUE consumer_set_token(VALUE self, VALUE token, VALUE lifetime_ms, VALUE principal, VALUE extensions) {
  pk_token_t it = pk_token_read(token, lifetime_ms, principal, extensions);
  pk_failure_t failure = {0};
  rd_kafka_resp_err_t err = pk_token_set(&pk_consumer_of(self)->handle, "consumer", &it);

  if (err) pk_failure_set(&failure, err, it.error);
  return pk_failure_value(&failure);
}

static VALUE consumer_set_token_failure(VALUE self, VALUE reason) {
  pk_consumer_t *core = pk_consumer_of(self);
  const char *text = StringValueCStr(reason);

  pk_loop_check(pk_handle_enter(&core->handle), core);
  rd_kafka_oauthbearer_set_token_failure(core->handle.rk, text);
  pk_handle_leave(&core->handle);
  RB_GC_GUARD(reason);
  return Qnil;
}

void Init_pk_consumer_group(VALUE cConsumer) {
  rb_define_method(cConsumer, "subscribe", consumer_subscribe, 1);
  rb_define_method(cConsumer, "unsubscribe", consumer_unsubscribe, 0);
  rb_define_method(cConsumer, "answer", consumer_answer, -1);
  rb_define_method(cConsumer, "assign", consumer_assign, 1);
  rb_define_method(cConsumer, "unassign", consumer_unassign, 1);
  rb_define_method(cConsumer, "seek", consumer_seek, -1);
  rb_define_method(cConsumer, "member_id", consumer_member_id, 0);
  rb_define_method(cConsumer, "group_metadata", consumer_group_metadata, 0);
  rb_define_method(cConsumer, "rebalance_protocol", consumer_rebalance_protocol, 0);
  rb_define_method(cConsumer, "assignment", consumer_assignment, 0);
  rb_define_method(cConsumer, "assignment_lost?", consumer_assignment_lost_p, 0);
  rb_define_method(cConsumer, "cached_watermarks", consumer_cached_watermarks, 2);
  rb_define_method(cConsumer, "set_token", consumer_set_token, 4);
  rb_define_method(cConsumer, "set_token_failure", consumer_set_token_failure, 1);
}
