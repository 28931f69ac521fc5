/* Requests about topics and offsets: how each is built from Ruby and read back.
 * Every step may raise; pk_admin_run frees the native parts. */
#include "rb_admin.h"

#define ERROR_BYTES 512

static VALUE row_at(VALUE rows, long index) {
  return rb_Array(rb_ary_entry(rows, index));
}

/* -- create, delete, widen -------------------------------------------------- */

static int set_config(VALUE name, VALUE value, VALUE topic) {
  const char *c_name, *c_value;

  name = rb_String(name);
  value = rb_String(value);
  c_name = StringValueCStr(name);
  c_value = StringValueCStr(value);
  if (rd_kafka_NewTopic_set_config((rd_kafka_NewTopic_t *)topic, c_name, c_value)) {
    rb_raise(rb_eArgError, "librdkafka refused config %s", c_name);
  }
  return ST_CONTINUE;
}

static void free_new_topic(void *item) {
  rd_kafka_NewTopic_destroy(item);
}

static void build_new_topics(pk_admin_call_t *call) {
  char error[ERROR_BYTES] = "";

  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_new_topic);
  for (size_t i = 0; i < call->count; i++) {
    VALUE row = row_at(call->input, (long)i), name = rb_ary_entry(row, 0), config = rb_ary_entry(row, 3);
    int partitions = NUM2INT(rb_ary_entry(row, 1)), replication_factor = NUM2INT(rb_ary_entry(row, 2));

    call->items[i] = rd_kafka_NewTopic_new(StringValueCStr(name), partitions, replication_factor, error, sizeof error);
    if (!call->items[i]) rb_raise(rb_eArgError, "%s", error);
    if (NIL_P(config)) continue;
    Check_Type(config, T_HASH);
    rb_hash_foreach(config, set_config, (VALUE)call->items[i]);
  }
}

static void set_validate_only(pk_admin_call_t *call) {
  char error[ERROR_BYTES];

  if (call->flag) rd_kafka_AdminOptions_set_validate_only(call->request_options, 1, error, sizeof error);
}

static void send_create_topics(pk_admin_call_t *call) {
  rd_kafka_CreateTopics(call->admin->handle.rk, (rd_kafka_NewTopic_t **)call->items, call->count, call->request_options,
                        call->wait.queue);
}

/* [[name, number, message or nil], …] */
static VALUE topic_rows(const rd_kafka_topic_result_t **results, size_t count) {
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    rd_kafka_resp_err_t err = rd_kafka_topic_result_error(results[i]);

    rb_ary_push(rows, rb_ary_new_from_args(3, pk_utf8(rd_kafka_topic_result_name(results[i])), INT2NUM((int)err),
                                           pk_admin_text(err, rd_kafka_topic_result_error_string(results[i]))));
  }
  return rows;
}

static VALUE read_create_topics(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_CreateTopics_result_t *result = rd_kafka_event_CreateTopics_result(call->event);
  const rd_kafka_topic_result_t **results = rd_kafka_CreateTopics_result_topics(result, &count);

  return topic_rows(results, count);
}

static const pk_admin_request_t create_topics = {
    .op = RD_KAFKA_ADMIN_OP_CREATETOPICS,
    .build = build_new_topics,
    .options = set_validate_only,
    .send = send_create_topics,
    .read = read_create_topics,
};

/* create_topics([[name, partitions, replication_factor, {config}], …], timeout_ms, validate_only) */
static VALUE admin_create_topics(int argc, VALUE *argv, VALUE self) {
  VALUE topics, timeout_ms, validate_only;

  rb_scan_args(argc, argv, "21", &topics, &timeout_ms, &validate_only);
  return pk_admin_run(self, &create_topics, rb_Array(topics), timeout_ms, validate_only);
}

static void free_delete_topic(void *item) {
  rd_kafka_DeleteTopic_destroy(item);
}

static void build_delete_topics(pk_admin_call_t *call) {
  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_delete_topic);
  for (size_t i = 0; i < call->count; i++) {
    VALUE name = rb_ary_entry(call->input, (long)i);

    call->items[i] = rd_kafka_DeleteTopic_new(StringValueCStr(name));
  }
}

static void send_delete_topics(pk_admin_call_t *call) {
  rd_kafka_DeleteTopics(call->admin->handle.rk, (rd_kafka_DeleteTopic_t **)call->items, call->count,
                        call->request_options, call->wait.queue);
}

static VALUE read_delete_topics(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DeleteTopics_result_t *result = rd_kafka_event_DeleteTopics_result(call->event);
  const rd_kafka_topic_result_t **results = rd_kafka_DeleteTopics_result_topics(result, &count);

  return topic_rows(results, count);
}

static const pk_admin_request_t delete_topics = {
    .op = RD_KAFKA_ADMIN_OP_DELETETOPICS,
    .build = build_delete_topics,
    .send = send_delete_topics,
    .read = read_delete_topics,
};

/* delete_topics([name, …], timeout_ms) */
static VALUE admin_delete_topics(VALUE self, VALUE names, VALUE timeout_ms) {
  return pk_admin_run(self, &delete_topics, rb_Array(names), timeout_ms, Qfalse);
}

static void free_new_partitions(void *item) {
  rd_kafka_NewPartitions_destroy(item);
}

static void build_new_partitions(pk_admin_call_t *call) {
  char error[ERROR_BYTES] = "";

  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_new_partitions);
  for (size_t i = 0; i < call->count; i++) {
    VALUE row = row_at(call->input, (long)i), name = rb_ary_entry(row, 0);
    int total = NUM2INT(rb_ary_entry(row, 1));

    if (total < 1) rb_raise(rb_eArgError, "%s: a topic has at least 1 partition", StringValueCStr(name));
    call->items[i] = rd_kafka_NewPartitions_new(StringValueCStr(name), (size_t)total, error, sizeof error);
    if (!call->items[i]) rb_raise(rb_eArgError, "%s", error);
  }
}

static void send_create_partitions(pk_admin_call_t *call) {
  rd_kafka_CreatePartitions(call->admin->handle.rk, (rd_kafka_NewPartitions_t **)call->items, call->count,
                            call->request_options, call->wait.queue);
}

static VALUE read_create_partitions(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_CreatePartitions_result_t *result = rd_kafka_event_CreatePartitions_result(call->event);
  const rd_kafka_topic_result_t **results = rd_kafka_CreatePartitions_result_topics(result, &count);

  return topic_rows(results, count);
}

static const pk_admin_request_t create_partitions = {
    .op = RD_KAFKA_ADMIN_OP_CREATEPARTITIONS,
    .build = build_new_partitions,
    .send = send_create_partitions,
    .read = read_create_partitions,
};

/* create_partitions([[name, total], …], timeout_ms) */
static VALUE admin_create_partitions(VALUE self, VALUE topics, VALUE timeout_ms) {
  return pk_admin_run(self, &create_partitions, rb_Array(topics), timeout_ms, Qfalse);
}

/* -- offsets ---------------------------------------------------------------- */

static void free_list(void *item) {
  rd_kafka_topic_partition_list_destroy(item);
}

/* Converts nothing, so no user code runs: a checked value can't change. */
static void check_row(VALUE row, bool with_offset) {
  VALUE name;

  Check_Type(row, T_ARRAY);
  name = rb_ary_entry(row, 0);
  Check_Type(name, T_STRING);
  StringValueCStr(name);
  NUM2INT(pk_integer(rb_ary_entry(row, 1)));
  if (with_offset) NUM2LL(pk_integer(rb_ary_entry(row, 2)));
}

/* Everything that can raise comes first, since nothing would free the list yet. */
rd_kafka_topic_partition_list_t *pk_admin_list(VALUE rows, bool with_offset) {
  long count = RARRAY_LEN(rows);
  rd_kafka_topic_partition_list_t *list;

  for (long i = 0; i < count; i++) check_row(rb_ary_entry(rows, i), with_offset);
  list = rd_kafka_topic_partition_list_new((int)count);
  for (long i = 0; i < count; i++) {
    VALUE row = rb_ary_entry(rows, i), name = rb_ary_entry(row, 0);
    rd_kafka_topic_partition_t *partition =
        rd_kafka_topic_partition_list_add(list, RSTRING_PTR(name), NUM2INT(rb_ary_entry(row, 1)));

    if (with_offset) partition->offset = NUM2LL(rb_ary_entry(row, 2));
  }
  return list;
}

static void build_list_offsets(pk_admin_call_t *call) {
  pk_admin_items(call, 1, free_list);
  call->items[0] = pk_admin_list(call->input, true);
}

static void set_isolation(pk_admin_call_t *call) {
  rd_kafka_error_t *error;
  rd_kafka_IsolationLevel_t level =
      call->flag ? RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED : RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED;

  error = rd_kafka_AdminOptions_set_isolation_level(call->request_options, level);
  if (error) pk_raise_error(error);
}

static void send_list_offsets(pk_admin_call_t *call) {
  rd_kafka_ListOffsets(call->admin->handle.rk, call->items[0], call->request_options, call->wait.queue);
}

/* A partition whose leader hasn't answered has neither an error nor an offset. */
static int list_offsets_number(const rd_kafka_topic_partition_t *partition) {
  bool unanswered = !partition->err && partition->offset == RD_KAFKA_OFFSET_INVALID;

  return (int)(unanswered ? RD_KAFKA_RESP_ERR__TIMED_OUT : partition->err);
}

static VALUE read_list_offsets(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_ListOffsets_result_t *result = rd_kafka_event_ListOffsets_result(call->event);
  const rd_kafka_ListOffsetsResultInfo_t **infos = rd_kafka_ListOffsets_result_infos(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    const rd_kafka_topic_partition_t *partition = rd_kafka_ListOffsetsResultInfo_topic_partition(infos[i]);

    rb_ary_push(rows, rb_ary_new_from_args(
                          6, pk_utf8(partition->topic), INT2NUM(partition->partition), LL2NUM(partition->offset),
                          LL2NUM(rd_kafka_ListOffsetsResultInfo_timestamp(infos[i])),
                          INT2NUM(rd_kafka_topic_partition_get_leader_epoch(partition)),
                          INT2NUM(list_offsets_number(partition))));
  }
  return rows;
}

static const pk_admin_request_t list_offsets = {
    .op = RD_KAFKA_ADMIN_OP_LISTOFFSETS,
    .build = build_list_offsets,
    .options = set_isolation,
    .send = send_list_offsets,
    .read = read_list_offsets,
};

/* list_offsets([[topic, partition, spec], …], timeout_ms, read_committed) →
 * [[topic, partition, offset, timestamp, leader_epoch, number], …]; spec is a
 * time in ms, -2 for the first offset, -1 for the end, -3 for the latest time. */
static VALUE admin_list_offsets(int argc, VALUE *argv, VALUE self) {
  VALUE partitions, timeout_ms, read_committed;

  rb_scan_args(argc, argv, "21", &partitions, &timeout_ms, &read_committed);
  partitions = rb_Array(partitions);
  if (RARRAY_LEN(partitions) == 0) return rb_ary_new();
  return pk_admin_run(self, &list_offsets, partitions, timeout_ms, read_committed);
}

/* -- delete records --------------------------------------------------------- */

static void free_delete_records(void *item) {
  rd_kafka_DeleteRecords_destroy(item);
}

static void build_delete_records(pk_admin_call_t *call) {
  rd_kafka_topic_partition_list_t *list;

  pk_admin_items(call, 1, free_delete_records);
  list = pk_admin_list(call->input, true);
  call->items[0] = rd_kafka_DeleteRecords_new(list); /* copies the list */
  rd_kafka_topic_partition_list_destroy(list);
}

static void send_delete_records(pk_admin_call_t *call) {
  rd_kafka_DeleteRecords(call->admin->handle.rk, (rd_kafka_DeleteRecords_t **)call->items, 1, call->request_options,
                         call->wait.queue);
}

static VALUE read_delete_records(pk_admin_call_t *call) {
  const rd_kafka_DeleteRecords_result_t *result = rd_kafka_event_DeleteRecords_result(call->event);
  const rd_kafka_topic_partition_list_t *list = rd_kafka_DeleteRecords_result_offsets(result);
  VALUE rows = rb_ary_new();

  for (int i = 0; i < list->cnt; i++) {
    const rd_kafka_topic_partition_t *partition = &list->elems[i];

    rb_ary_push(rows, rb_ary_new_from_args(4, pk_utf8(partition->topic), INT2NUM(partition->partition),
                                           LL2NUM(partition->offset), INT2NUM((int)partition->err)));
  }
  return rows;
}

static const pk_admin_request_t delete_records = {
    .op = RD_KAFKA_ADMIN_OP_DELETERECORDS,
    .build = build_delete_records,
    .options = pk_admin_operation_timeout,
    .send = send_delete_records,
    .read = read_delete_records,
};

/* delete_records([[topic, partition, offset (-1: the end)], …], timeout_ms) →
 * [[topic, partition, first offset left, number], …] */
static VALUE admin_delete_records(VALUE self, VALUE partitions, VALUE timeout_ms) {
  partitions = rb_Array(partitions);
  if (RARRAY_LEN(partitions) == 0) return rb_ary_new();
  return pk_admin_run(self, &delete_records, partitions, timeout_ms, Qfalse);
}

/* -- the cluster ------------------------------------------------------------ */

static void send_describe_cluster(pk_admin_call_t *call) {
  rd_kafka_DescribeCluster(call->admin->handle.rk, call->request_options, call->wait.queue);
}

static VALUE read_describe_cluster(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DescribeCluster_result_t *result = rd_kafka_event_DescribeCluster_result(call->event);
  const rd_kafka_Node_t **nodes = rd_kafka_DescribeCluster_result_nodes(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    rb_ary_push(rows,
                rb_ary_new_from_args(4, INT2NUM(rd_kafka_Node_id(nodes[i])), pk_utf8(rd_kafka_Node_host(nodes[i])),
                                     INT2NUM(rd_kafka_Node_port(nodes[i])), pk_utf8(rd_kafka_Node_rack(nodes[i]))));
  }
  return rb_ary_new_from_args(2, pk_utf8(rd_kafka_DescribeCluster_result_cluster_id(result)), rows);
}

static const pk_admin_request_t describe_cluster = {
    .op = RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER,
    .send = send_describe_cluster,
    .read = read_describe_cluster,
};

/* describe_cluster(timeout_ms) → [cluster id or nil, [[id, host, port, rack or nil], …]] */
static VALUE admin_describe_cluster(VALUE self, VALUE timeout_ms) {
  return pk_admin_run(self, &describe_cluster, Qnil, timeout_ms, Qfalse);
}

void pk_admin_define_requests(VALUE cAdmin) {
  rb_define_method(cAdmin, "describe_cluster", admin_describe_cluster, 1);
  rb_define_method(cAdmin, "create_topics", admin_create_topics, -1);
  rb_define_method(cAdmin, "delete_topics", admin_delete_topics, 2);
  rb_define_method(cAdmin, "create_partitions", admin_create_partitions, 2);
  rb_define_method(cAdmin, "list_offsets", admin_list_offsets, -1);
  rb_define_method(cAdmin, "delete_records", admin_delete_records, 2);
}
