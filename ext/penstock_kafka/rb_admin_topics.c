/* Requests that describe topics with their replicas and rights, and that elect
 * leaders. Every step may raise; pk_admin_run frees the native parts. */
#include "rb_admin.h"

static ID id_leader, id_replicas, id_isrs, id_partition;

/* -- describe --------------------------------------------------------------- */

static void free_collection(void *item) {
  rd_kafka_TopicCollection_destroy(item);
}

/* librdkafka copies the names at once. Nothing may raise between the allocation
 * and the copy, so all are checked before. */
static void build_collection(pk_admin_call_t *call) {
  long count = RARRAY_LEN(call->input);
  VALUE holder, names = rb_ary_new_capa(count);
  const char **texts;

  for (long i = 0; i < count; i++) rb_ary_push(names, pk_own_text(rb_ary_entry(call->input, i)));
  pk_admin_items(call, 1, free_collection);
  texts = ALLOCV_N(const char *, holder, count ? count : 1);
  for (long i = 0; i < count; i++) texts[i] = RSTRING_PTR(rb_ary_entry(names, i));
  call->items[0] = rd_kafka_TopicCollection_of_topic_names(texts, (size_t)count);
  ALLOCV_END(holder);
  RB_GC_GUARD(names);
}

void pk_admin_authorized_operations(pk_admin_call_t *call) {
  rd_kafka_error_t *error =
      rd_kafka_AdminOptions_set_include_authorized_operations(call->request_options, call->flag);

  if (error) pk_raise_error(error);
}

static void send_describe_topics(pk_admin_call_t *call) {
  rd_kafka_DescribeTopics(call->admin->handle.rk, call->items[0], call->request_options, call->wait.queue);
}

static VALUE node_id(const rd_kafka_Node_t *node) {
  return INT2NUM(node ? (int)rd_kafka_Node_id(node) : -1);
}

static VALUE node_ids(const rd_kafka_Node_t **nodes, size_t count) {
  VALUE ids = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) rb_ary_push(ids, node_id(nodes[i]));
  return ids;
}

static VALUE partition_hash(const rd_kafka_TopicPartitionInfo_t *partition) {
  size_t replica_count, isr_count;
  const rd_kafka_Node_t **replicas = rd_kafka_TopicPartitionInfo_replicas(partition, &replica_count);
  const rd_kafka_Node_t **isrs = rd_kafka_TopicPartitionInfo_isr(partition, &isr_count);
  VALUE hash = rb_hash_new();

  rb_hash_aset(hash, ID2SYM(id_partition), INT2NUM(rd_kafka_TopicPartitionInfo_partition(partition)));
  rb_hash_aset(hash, ID2SYM(id_leader), node_id(rd_kafka_TopicPartitionInfo_leader(partition)));
  rb_hash_aset(hash, ID2SYM(id_replicas), node_ids(replicas, replica_count));
  rb_hash_aset(hash, ID2SYM(id_isrs), node_ids(isrs, isr_count));
  return hash;
}

static VALUE topic_row(const rd_kafka_TopicDescription_t *topic) {
  const rd_kafka_error_t *error = rd_kafka_TopicDescription_error(topic);
  rd_kafka_resp_err_t err = error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;
  size_t count, operation_count;
  const rd_kafka_TopicPartitionInfo_t **partitions = rd_kafka_TopicDescription_partitions(topic, &count);
  const rd_kafka_AclOperation_t *operations =
      rd_kafka_TopicDescription_authorized_operations(topic, &operation_count);
  const char *id = rd_kafka_Uuid_base64str(rd_kafka_TopicDescription_topic_id(topic));
  VALUE rows = rb_ary_new_capa((long)count), allowed = rb_ary_new_capa((long)operation_count);

  for (size_t i = 0; i < count; i++) rb_ary_push(rows, partition_hash(partitions[i]));
  for (size_t i = 0; operations && i < operation_count; i++) rb_ary_push(allowed, INT2NUM((int)operations[i]));
  return rb_ary_new_from_args(7, pk_utf8(rd_kafka_TopicDescription_name(topic)), INT2NUM((int)err),
                              pk_admin_text(err, error ? rd_kafka_error_string(error) : NULL), pk_utf8(id),
                              rd_kafka_TopicDescription_is_internal(topic) ? Qtrue : Qfalse, rows, allowed);
}

static VALUE read_describe_topics(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DescribeTopics_result_t *result = rd_kafka_event_DescribeTopics_result(call->event);
  const rd_kafka_TopicDescription_t **topics = rd_kafka_DescribeTopics_result_topics(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    if (topics[i]) rb_ary_push(rows, topic_row(topics[i])); /* a broker may leave one out */
  }
  return rows;
}

static const pk_admin_request_t describe_topics = {
    .op = RD_KAFKA_ADMIN_OP_DESCRIBETOPICS,
    .build = build_collection,
    .options = pk_admin_authorized_operations,
    .send = send_describe_topics,
    .read = read_describe_topics,
};

/* describe_topics([name, …], timeout_ms, with_operations = false) → [[name, number, message or nil, id, internal,
 * [{partition:, leader: (-1: none), replicas:, isrs:}, …], [operation, …]], …] */
static VALUE admin_describe_topics(int argc, VALUE *argv, VALUE self) {
  VALUE names, timeout_ms, with_operations;

  rb_scan_args(argc, argv, "21", &names, &timeout_ms, &with_operations);
  names = rb_Array(names);
  if (RARRAY_LEN(names) == 0) return rb_ary_new();
  return pk_admin_run(self, &describe_topics, names, timeout_ms, with_operations);
}

/* -- elect leaders ---------------------------------------------------------- */

static void free_election(void *item) {
  rd_kafka_ElectLeaders_destroy(item);
}

/* input: rows or nil; flag: unclean */
static void build_election(pk_admin_call_t *call) {
  rd_kafka_ElectionType_t type = call->flag ? RD_KAFKA_ELECTION_TYPE_UNCLEAN : RD_KAFKA_ELECTION_TYPE_PREFERRED;
  rd_kafka_topic_partition_list_t *list;

  pk_admin_items(call, 1, free_election);
  list = NIL_P(call->input) ? NULL : pk_admin_list(call->input, false);
  call->items[0] = rd_kafka_ElectLeaders_new(type, list); /* copies the list */
  if (list) rd_kafka_topic_partition_list_destroy(list);
}

static void send_election(pk_admin_call_t *call) {
  rd_kafka_ElectLeaders(call->admin->handle.rk, call->items[0], call->request_options, call->wait.queue);
}

static VALUE read_election(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_ElectLeaders_result_t *result = rd_kafka_event_ElectLeaders_result(call->event);
  const rd_kafka_topic_partition_result_t **results = rd_kafka_ElectLeaders_result_partitions(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    const rd_kafka_topic_partition_t *partition = rd_kafka_topic_partition_result_partition(results[i]);
    const rd_kafka_error_t *error = rd_kafka_topic_partition_result_error(results[i]);
    rd_kafka_resp_err_t err = error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;

    rb_ary_push(rows, rb_ary_new_from_args(4, pk_utf8(partition->topic), INT2NUM(partition->partition),
                                           INT2NUM((int)err),
                                           pk_admin_text(err, error ? rd_kafka_error_string(error) : NULL)));
  }
  return rows;
}

static const pk_admin_request_t elect_leaders = {
    .op = RD_KAFKA_ADMIN_OP_ELECTLEADERS,
    .build = build_election,
    .options = pk_admin_operation_timeout,
    .send = send_election,
    .read = read_election,
};

/* elect_leaders([[topic, partition], …] or nil for all, timeout_ms, unclean = false) →
 * [[topic, partition, number, message or nil], …]; for all, only of those whose leader changed */
static VALUE admin_elect_leaders(int argc, VALUE *argv, VALUE self) {
  VALUE partitions, timeout_ms, unclean;

  rb_scan_args(argc, argv, "21", &partitions, &timeout_ms, &unclean);
  if (!NIL_P(partitions)) partitions = rb_Array(partitions);
  if (!NIL_P(partitions) && RARRAY_LEN(partitions) == 0) return rb_ary_new();
  return pk_admin_run(self, &elect_leaders, partitions, timeout_ms, unclean);
}

void pk_admin_define_topics(VALUE cAdmin) {
  id_leader = rb_intern("leader");
  id_replicas = rb_intern("replicas");
  id_isrs = rb_intern("isrs");
  id_partition = rb_intern("partition");
  rb_define_method(cAdmin, "describe_topics", admin_describe_topics, -1);
  rb_define_method(cAdmin, "elect_leaders", admin_elect_leaders, -1);
}
