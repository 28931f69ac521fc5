/* Requests about consumer groups. Every step may raise; pk_admin_run frees the
 * native parts. */
#include "rb_admin.h"

static void free_group_offsets(void *item) {
  rd_kafka_ListConsumerGroupOffsets_destroy(item);
}

/* -- committed offsets ------------------------------------------------------ */

/* input: [[group, rows or nil], …] */
static void build_committed(pk_admin_call_t *call) {
  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_group_offsets);
  for (size_t i = 0; i < call->count; i++) {
    VALUE row = rb_Array(rb_ary_entry(call->input, (long)i)), rows = rb_ary_entry(row, 1);
    VALUE name = pk_own_text(rb_ary_entry(row, 0));
    rd_kafka_topic_partition_list_t *list = NIL_P(rows) ? NULL : pk_admin_list(rows, false);

    call->items[i] = rd_kafka_ListConsumerGroupOffsets_new(RSTRING_PTR(name), list); /* copies the list */
    if (list) rd_kafka_topic_partition_list_destroy(list);
    RB_GC_GUARD(name);
  }
}

static void set_require_stable(pk_admin_call_t *call) {
  rd_kafka_error_t *error = rd_kafka_AdminOptions_set_require_stable_offsets(call->request_options, call->flag);

  if (error) pk_raise_error(error);
}

static void send_committed(pk_admin_call_t *call) {
  rd_kafka_ListConsumerGroupOffsets(call->admin->handle.rk,
                                    (rd_kafka_ListConsumerGroupOffsets_t **)&call->items[call->index], 1,
                                    call->request_options, call->wait.queue);
}

/* The metadata isn't NUL-terminated: only its size is valid. */
static VALUE committed_row(const rd_kafka_topic_partition_t *partition) {
  return rb_ary_new_from_args(
      6, pk_utf8(partition->topic), INT2NUM(partition->partition), LL2NUM(partition->offset),
      partition->metadata_size ? pk_binary(partition->metadata, partition->metadata_size) : Qnil,
      INT2NUM(rd_kafka_topic_partition_get_leader_epoch(partition)), INT2NUM((int)partition->err));
}

static VALUE read_committed(pk_admin_call_t *call) {
  size_t count = 0;
  VALUE group = rb_ary_entry(rb_ary_entry(call->input, (long)call->index), 0), rows = rb_ary_new();
  const rd_kafka_group_result_t **groups;
  const rd_kafka_topic_partition_list_t *list;
  const rd_kafka_error_t *error;

  if (rd_kafka_event_error(call->event)) {
    return rb_ary_push(pk_admin_row(call, group, rd_kafka_event_error(call->event),
                                    rd_kafka_event_error_string(call->event)),
                       rows);
  }
  groups = rd_kafka_ListConsumerGroupOffsets_result_groups(rd_kafka_event_ListConsumerGroupOffsets_result(call->event),
                                                           &count);
  error = count ? rd_kafka_group_result_error(groups[0]) : NULL;
  if (error) return rb_ary_push(pk_admin_error_row(call, group, error), rows);
  list = count ? rd_kafka_group_result_partitions(groups[0]) : NULL;
  for (int i = 0; list && i < list->cnt; i++) rb_ary_push(rows, committed_row(&list->elems[i]));
  return rb_ary_new_from_args(4, group, INT2FIX(0), Qnil, rows);
}

static const pk_admin_request_t group_offsets = {
    .op = RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS,
    .build = build_committed,
    .options = set_require_stable,
    .send = send_committed,
    .read = read_committed,
    .each = true,
};

/* group_offsets([[group, [[topic, partition], …] or nil for all], …], timeout_ms, require_stable) →
 * [[group, number, message or nil, rows], …]; each row is [topic, partition, offset (-1001: none), metadata or nil,
 * leader_epoch, number] */
static VALUE admin_group_offsets(int argc, VALUE *argv, VALUE self) {
  VALUE groups, timeout_ms, require_stable;

  rb_scan_args(argc, argv, "21", &groups, &timeout_ms, &require_stable);
  pk_admin_reads_groups(self);
  groups = rb_Array(groups);
  if (RARRAY_LEN(groups) == 0) return rb_ary_new();
  return pk_admin_run(self, &group_offsets, groups, timeout_ms, require_stable);
}

/* -- list ------------------------------------------------------------------- */

static void send_list_groups(pk_admin_call_t *call) {
  rd_kafka_ListConsumerGroups(call->admin->handle.rk, call->request_options, call->wait.queue);
}

static VALUE listing_row(const rd_kafka_ConsumerGroupListing_t *group) {
  return rb_ary_new_from_args(3, pk_utf8(rd_kafka_ConsumerGroupListing_group_id(group)),
                              pk_utf8(rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupListing_state(group))),
                              pk_utf8(rd_kafka_consumer_group_type_name(rd_kafka_ConsumerGroupListing_type(group))));
}

static VALUE read_list_groups(pk_admin_call_t *call) {
  size_t count, errors;
  const rd_kafka_ListConsumerGroups_result_t *result = rd_kafka_event_ListConsumerGroups_result(call->event);
  const rd_kafka_error_t **failures = rd_kafka_ListConsumerGroups_result_errors(result, &errors);
  const rd_kafka_ConsumerGroupListing_t **groups = rd_kafka_ListConsumerGroups_result_valid(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  if (errors) pk_admin_raise_failed(call->admin, rd_kafka_error_code(failures[0]), rd_kafka_error_string(failures[0]));
  for (size_t i = 0; i < count; i++) rb_ary_push(rows, listing_row(groups[i]));
  return rows;
}

static const pk_admin_request_t list_groups = {
    .op = RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS,
    .send = send_list_groups,
    .read = read_list_groups,
};

/* list_groups(timeout_ms) → [[group, state, type], …] */
static VALUE admin_list_groups(VALUE self, VALUE timeout_ms) {
  return pk_admin_run(self, &list_groups, Qnil, timeout_ms, Qfalse);
}

/* -- describe --------------------------------------------------------------- */

static void send_describe_groups(pk_admin_call_t *call) {
  rd_kafka_DescribeConsumerGroups(call->admin->handle.rk, (const char **)call->items, call->count,
                                  call->request_options, call->wait.queue);
}

static VALUE member_row(const rd_kafka_MemberDescription_t *member) {
  const rd_kafka_MemberAssignment_t *assignment = rd_kafka_MemberDescription_assignment(member);
  const rd_kafka_topic_partition_list_t *list = assignment ? rd_kafka_MemberAssignment_partitions(assignment) : NULL;
  VALUE partitions = rb_ary_new();

  for (int i = 0; list && i < list->cnt; i++) {
    rb_ary_push(partitions, rb_ary_new_from_args(2, pk_utf8(list->elems[i].topic), INT2NUM(list->elems[i].partition)));
  }
  return rb_ary_new_from_args(5, pk_utf8(rd_kafka_MemberDescription_consumer_id(member)),
                              pk_utf8(rd_kafka_MemberDescription_client_id(member)),
                              pk_utf8(rd_kafka_MemberDescription_host(member)),
                              pk_utf8(rd_kafka_MemberDescription_group_instance_id(member)), partitions);
}

static VALUE group_row(pk_admin_call_t *call, const rd_kafka_ConsumerGroupDescription_t *group) {
  const rd_kafka_Node_t *coordinator = rd_kafka_ConsumerGroupDescription_coordinator(group);
  size_t count = rd_kafka_ConsumerGroupDescription_member_count(group);
  size_t operation_count;
  const rd_kafka_AclOperation_t *operations =
      rd_kafka_ConsumerGroupDescription_authorized_operations(group, &operation_count);
  VALUE members = rb_ary_new_capa((long)count), allowed = rb_ary_new();
  VALUE row = pk_admin_error_row(call, pk_utf8(rd_kafka_ConsumerGroupDescription_group_id(group)),
                                 rd_kafka_ConsumerGroupDescription_error(group));

  for (size_t i = 0; i < count; i++) {
    rb_ary_push(members, member_row(rd_kafka_ConsumerGroupDescription_member(group, i)));
  }
  for (size_t i = 0; operations && i < operation_count; i++) rb_ary_push(allowed, INT2NUM((int)operations[i]));
  return rb_ary_concat(
      row, rb_ary_new_from_args(
               6, pk_utf8(rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(group))),
               pk_utf8(rd_kafka_consumer_group_type_name(rd_kafka_ConsumerGroupDescription_type(group))),
               pk_utf8(rd_kafka_ConsumerGroupDescription_partition_assignor(group)),
               coordinator ? INT2NUM(rd_kafka_Node_id(coordinator)) : Qnil, members, allowed));
}

static VALUE read_describe_groups(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DescribeConsumerGroups_result_t *result = rd_kafka_event_DescribeConsumerGroups_result(call->event);
  const rd_kafka_ConsumerGroupDescription_t **groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) rb_ary_push(rows, group_row(call, groups[i]));
  return rows;
}

static const pk_admin_request_t describe_groups = {
    .op = RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS,
    .build = pk_admin_names,
    .options = pk_admin_authorized_operations,
    .send = send_describe_groups,
    .read = read_describe_groups,
};

/* describe_groups([group, …], timeout_ms, with_operations = false) → [[group, number, message or nil,
 * state, type, assignor, coordinator, [[member, client, host, instance or nil,
 * [[topic, partition], …]], …], [operation, …]], …] */
static VALUE admin_describe_groups(int argc, VALUE *argv, VALUE self) {
  VALUE groups, timeout_ms, with_operations;

  rb_scan_args(argc, argv, "21", &groups, &timeout_ms, &with_operations);
  groups = rb_Array(groups);
  if (RARRAY_LEN(groups) == 0) return rb_ary_new();
  return pk_admin_run(self, &describe_groups, groups, timeout_ms, with_operations);
}

void pk_admin_define_groups(VALUE cAdmin) {
  rb_define_private_method(cAdmin, "group_offsets", admin_group_offsets, -1);
  rb_define_method(cAdmin, "list_groups", admin_list_groups, 1);
  rb_define_method(cAdmin, "describe_groups", admin_describe_groups, -1);
}
