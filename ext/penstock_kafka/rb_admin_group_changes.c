/* Requests that delete groups, and that change their committed offsets. Every
 * step may raise; pk_admin_run frees the native parts. */
#include "rb_admin.h"
#include "rb_binding.h"

/* -- delete groups ---------------------------------------------------------- */

static void free_group(void *item) {
  rd_kafka_DeleteGroup_destroy(item);
}

static void build_delete_groups(pk_admin_call_t *call) {
  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_group);
  for (size_t i = 0; i < call->count; i++) {
    VALUE name = rb_ary_entry(call->input, (long)i);

    call->items[i] = rd_kafka_DeleteGroup_new(StringValueCStr(name));
  }
}

static void send_delete_groups(pk_admin_call_t *call) {
  rd_kafka_DeleteGroups(call->admin->handle.rk, (rd_kafka_DeleteGroup_t **)call->items, call->count,
                        call->request_options, call->wait.queue);
}

static VALUE read_delete_groups(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DeleteGroups_result_t *result = rd_kafka_event_DeleteGroups_result(call->event);
  const rd_kafka_group_result_t **groups = rd_kafka_DeleteGroups_result_groups(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    rb_ary_push(rows, pk_admin_error_row(call, pk_utf8(rd_kafka_group_result_name(groups[i])),
                                         rd_kafka_group_result_error(groups[i])));
  }
  return rows;
}

static const pk_admin_request_t delete_groups = {
    .op = RD_KAFKA_ADMIN_OP_DELETEGROUPS,
    .build = build_delete_groups,
    .send = send_delete_groups,
    .read = read_delete_groups,
};

/* delete_groups([group, …], timeout_ms) → [[group, number, message or nil], …] */
static VALUE admin_delete_groups(VALUE self, VALUE groups, VALUE timeout_ms) {
  groups = rb_Array(groups);
  if (RARRAY_LEN(groups) == 0) return rb_ary_new();
  return pk_admin_run(self, &delete_groups, groups, timeout_ms, Qfalse);
}

/* -- committed offsets ------------------------------------------------------ */

/* Only librdkafka's result of this one group: its error, or [[topic, partition,
 * offset, number], …]. */
static VALUE partition_rows(pk_admin_call_t *call, const rd_kafka_group_result_t **groups, size_t count) {
  const rd_kafka_error_t *error = count ? rd_kafka_group_result_error(groups[0]) : NULL;
  const rd_kafka_topic_partition_list_t *list = count ? rd_kafka_group_result_partitions(groups[0]) : NULL;
  VALUE rows = rb_ary_new();

  if (error) pk_admin_raise_failed(call->admin, rd_kafka_error_code(error), rd_kafka_error_string(error));
  for (int i = 0; list && i < list->cnt; i++) {
    const rd_kafka_topic_partition_t *partition = &list->elems[i];

    rb_ary_push(rows, rb_ary_new_from_args(4, pk_utf8(partition->topic), INT2NUM(partition->partition),
                                           LL2NUM(partition->offset), INT2NUM((int)partition->err)));
  }
  return rows;
}

static void free_alter_offsets(void *item) {
  rd_kafka_AlterConsumerGroupOffsets_destroy(item);
}

/* input: [group, rows] */
static void build_alter_offsets(pk_admin_call_t *call) {
  VALUE group = pk_own_text(rb_ary_entry(call->input, 0));
  rd_kafka_topic_partition_list_t *list;

  pk_admin_items(call, 1, free_alter_offsets);
  list = pk_list_from_values(rb_ary_entry(call->input, 1));
  call->items[0] = rd_kafka_AlterConsumerGroupOffsets_new(RSTRING_PTR(group), list); /* copies the list */
  rd_kafka_topic_partition_list_destroy(list);
  RB_GC_GUARD(group);
}

static void send_alter_offsets(pk_admin_call_t *call) {
  rd_kafka_AlterConsumerGroupOffsets(call->admin->handle.rk, (rd_kafka_AlterConsumerGroupOffsets_t **)call->items, 1,
                                     call->request_options, call->wait.queue);
}

static VALUE read_alter_offsets(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_AlterConsumerGroupOffsets_result_t *result =
      rd_kafka_event_AlterConsumerGroupOffsets_result(call->event);
  const rd_kafka_group_result_t **groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(result, &count);

  return partition_rows(call, groups, count);
}

static const pk_admin_request_t alter_offsets = {
    .op = RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS,
    .build = build_alter_offsets,
    .send = send_alter_offsets,
    .read = read_alter_offsets,
};

/* alter_group_offsets(group, [[topic, partition, offset, metadata or nil, leader_epoch or nil], …], timeout_ms) →
 * [[topic, partition, offset, number], …] */
static VALUE admin_alter_group_offsets(VALUE self, VALUE group, VALUE rows, VALUE timeout_ms) {
  rows = rb_Array(rows);
  if (RARRAY_LEN(rows) == 0) return rb_ary_new();
  return pk_admin_run(self, &alter_offsets, rb_ary_new_from_args(2, group, rows), timeout_ms, Qfalse);
}

static void free_delete_offsets(void *item) {
  rd_kafka_DeleteConsumerGroupOffsets_destroy(item);
}

static void build_delete_offsets(pk_admin_call_t *call) {
  VALUE group = pk_own_text(rb_ary_entry(call->input, 0));
  rd_kafka_topic_partition_list_t *list;

  pk_admin_items(call, 1, free_delete_offsets);
  list = pk_admin_list(rb_ary_entry(call->input, 1), false);
  call->items[0] = rd_kafka_DeleteConsumerGroupOffsets_new(RSTRING_PTR(group), list); /* copies the list */
  rd_kafka_topic_partition_list_destroy(list);
  RB_GC_GUARD(group);
}

static void send_delete_offsets(pk_admin_call_t *call) {
  rd_kafka_DeleteConsumerGroupOffsets(call->admin->handle.rk, (rd_kafka_DeleteConsumerGroupOffsets_t **)call->items, 1,
                                      call->request_options, call->wait.queue);
}

static VALUE read_delete_offsets(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DeleteConsumerGroupOffsets_result_t *result =
      rd_kafka_event_DeleteConsumerGroupOffsets_result(call->event);
  const rd_kafka_group_result_t **groups = rd_kafka_DeleteConsumerGroupOffsets_result_groups(result, &count);

  return partition_rows(call, groups, count);
}

static const pk_admin_request_t delete_offsets = {
    .op = RD_KAFKA_ADMIN_OP_DELETECONSUMERGROUPOFFSETS,
    .build = build_delete_offsets,
    .send = send_delete_offsets,
    .read = read_delete_offsets,
};

/* delete_group_offsets(group, [[topic, partition], …], timeout_ms) → [[topic, partition, -1001, number], …] */
static VALUE admin_delete_group_offsets(VALUE self, VALUE group, VALUE rows, VALUE timeout_ms) {
  rows = rb_Array(rows);
  if (RARRAY_LEN(rows) == 0) return rb_ary_new();
  return pk_admin_run(self, &delete_offsets, rb_ary_new_from_args(2, group, rows), timeout_ms, Qfalse);
}

void pk_admin_define_group_changes(VALUE cAdmin) {
  rb_define_method(cAdmin, "delete_groups", admin_delete_groups, 2);
  rb_define_method(cAdmin, "alter_group_offsets", admin_alter_group_offsets, 3);
  rb_define_method(cAdmin, "delete_group_offsets", admin_delete_group_offsets, 3);
}
