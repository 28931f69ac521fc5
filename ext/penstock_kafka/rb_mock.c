/* Penstock::Native::MockCluster: librdkafka's mock cluster with the life cycle
 * of our handles. Only numbers here; their names are defined in Ruby
 * (native/mock_cluster.rb). Methods may be called from any thread; close waits
 * for calls that are inside. */
#include "rb_mock_call.h"

#include <string.h>

#include "rb_error.h"
#include "rb_nogvl.h"

/* -- the object ------------------------------------------------------------- */

static void mock_gc_destroy(void *pointer) {
  pk_mock_free(pointer);
}

/* Garbage collection may not wait for threads to end, so the reaper does. */
static void mock_gc_free(void *pointer) {
  pk_mock_t *mock = pointer;

  if (!mock) return;
  pk_handle_unregister(&mock->handle);
  if (pk_inherited(&mock->handle) || !mock->cluster) {
    pk_mock_free(mock);
  } else {
    pk_reap(mock_gc_destroy, mock);
  }
}

static size_t mock_size(const void *pointer) {
  return pointer ? sizeof(pk_mock_t) : 0;
}

static const rb_data_type_t mock_type = {
    .wrap_struct_name = "Penstock::Native::MockCluster",
    .function = {.dfree = mock_gc_free, .dsize = mock_size},
};

static VALUE mock_alloc(VALUE klass) {
  return TypedData_Wrap_Struct(klass, &mock_type, NULL);
}

pk_mock_t *pk_mock_get(VALUE self) {
  pk_mock_t *mock = rb_check_typeddata(self, &mock_type);

  if (!mock) pk_raise_closed(PK_MOCK_WHAT);
  return mock;
}

int pk_mock_int(VALUE value, int min, int max, const char *what) {
  int number = NUM2INT(value);

  if (number < min || number > max) rb_raise(rb_eArgError, "%s must be %d to %d, is %d", what, min, max, number);
  return number;
}

typedef struct {
  int brokers;
  pk_mock_t *mock;
  char error[512];
} open_args;

static void *open_safe(void *pointer) {
  open_args *args = pointer;

  args->mock = pk_mock_new(args->brokers, args->error, sizeof args->error);
  return pointer;
}

/* listen(brokers): the cluster is listening when it returns. Private, called by
 * initialize. */
static VALUE mock_listen(VALUE self, VALUE brokers) {
  open_args args = {pk_mock_int(brokers, 1, PK_MOCK_MAX_BROKERS, "brokers"), NULL, ""};

  if (DATA_PTR(self)) rb_raise(rb_eRuntimeError, "the mock cluster is already open");
  pk_without_gvl(open_safe, &args, NULL, NULL);
  if (!args.mock) pk_raise(RD_KAFKA_RESP_ERR__FAIL, args.error);
  DATA_PTR(self) = args.mock;
  pk_handle_register(&args.mock->handle);
  return self;
}

typedef struct {
  pk_mock_t *mock;
  int mine;
} close_args;

static void *close_safe(void *pointer) {
  close_args *args = pointer;

  /* No deadline: every call inside ends by itself within microseconds. */
  args->mine = pk_handle_begin_close(&args->mock->handle, PK_NO_DEADLINE) == PK_CLOSE_MINE;
  if (args->mine) {
    pk_mock_take_down(args->mock);
    pk_handle_closed(&args->mock->handle);
  }
  return pointer;
}

static VALUE mock_close(VALUE self) {
  close_args args = {rb_check_typeddata(self, &mock_type), 0};
  int interrupted;

  if (!args.mock || pk_inherited(&args.mock->handle)) return Qnil;
  interrupted = pk_without_gvl_first(close_safe, &args);
  if (args.mine) pk_handle_unregister(&args.mock->handle);
  if (interrupted) rb_jump_tag(interrupted);
  return Qnil;
}

static VALUE mock_closed_p(VALUE self) {
  pk_mock_t *mock = rb_check_typeddata(self, &mock_type);

  return !mock || pk_inherited(&mock->handle) || pk_handle_state(&mock->handle) != PK_OPEN ? Qtrue : Qfalse;
}

static VALUE mock_state(VALUE self) {
  return pk_state_symbol(&pk_mock_get(self)->handle);
}

static VALUE mock_pid(VALUE self) {
  return INT2NUM((int)pk_mock_get(self)->handle.pid);
}

/* -- calls ------------------------------------------------------------------ */

static void *call_safe(void *pointer) {
  pk_mock_call_t *call = pointer;

  call->result = call->run(call);
  pk_handle_leave(&call->mock->handle);
  return pointer;
}

VALUE pk_mock_run(VALUE self, pk_mock_call_t *call) {
  call->mock = pk_mock_get(self);
  pk_enter(&call->mock->handle, PK_MOCK_WHAT);
  pk_without_gvl_noraise(call_safe, call);
  if (call->result) pk_raise(call->result, NULL);
  return Qnil;
}

void pk_mock_name(char *target, VALUE string, const char *what) {
  const char *source = StringValueCStr(string);

  if (!*source || strlen(source) >= PK_MOCK_NAME_BYTES) {
    rb_raise(rb_eArgError, "%s must have 1 to %d bytes", what, PK_MOCK_NAME_BYTES - 1);
  }
  strcpy(target, source);
}

static VALUE mock_bootstrap_servers(VALUE self) {
  pk_mock_t *mock = pk_mock_get(self);
  VALUE servers;

  pk_enter(&mock->handle, PK_MOCK_WHAT);
  servers = pk_utf8(rd_kafka_mock_cluster_bootstraps(mock->cluster));
  pk_handle_leave(&mock->handle);
  return servers;
}

static rd_kafka_resp_err_t run_topic_create(pk_mock_call_t *call) {
  return rd_kafka_mock_topic_create(call->mock->cluster, call->topic, call->partition, call->number);
}

static VALUE mock_topic_create(VALUE self, VALUE topic, VALUE partitions, VALUE replication_factor) {
  pk_mock_call_t call = {.run = run_topic_create};

  pk_mock_name(call.topic, topic, "topic");
  call.partition = pk_mock_int(partitions, 1, PK_MOCK_MAX_PARTITIONS, "partitions");
  call.number = pk_mock_int(replication_factor, 1, PK_MOCK_MAX_BROKERS, "replication factor");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_topic_delete(pk_mock_call_t *call) {
  return rd_kafka_mock_topic_delete(call->mock->cluster, call->topic);
}

static VALUE mock_topic_delete(VALUE self, VALUE topic) {
  pk_mock_call_t call = {.run = run_topic_delete};

  pk_mock_name(call.topic, topic, "topic");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_topic_error(pk_mock_call_t *call) {
  rd_kafka_mock_topic_set_error(call->mock->cluster, call->topic, (rd_kafka_resp_err_t)call->number);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static VALUE mock_topic_error(VALUE self, VALUE topic, VALUE error) {
  pk_mock_call_t call = {.run = run_topic_error, .number = NUM2INT(error)};

  pk_mock_name(call.topic, topic, "topic");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_delete_records(pk_mock_call_t *call) {
  return rd_kafka_mock_partition_delete_records(call->mock->cluster, call->topic, call->partition, call->offset);
}

static VALUE mock_delete_records(VALUE self, VALUE topic, VALUE partition, VALUE before_offset) {
  pk_mock_call_t call = {.run = run_delete_records, .partition = NUM2INT(partition), .offset = NUM2LL(before_offset)};

  pk_mock_name(call.topic, topic, "topic");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_partition_leader(pk_mock_call_t *call) {
  return rd_kafka_mock_partition_set_leader(call->mock->cluster, call->topic, call->partition, call->broker);
}

static VALUE mock_partition_leader(VALUE self, VALUE topic, VALUE partition, VALUE broker) {
  pk_mock_call_t call = {.run = run_partition_leader, .partition = NUM2INT(partition), .broker = NUM2INT(broker)};

  pk_mock_name(call.topic, topic, "topic");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_coordinator(pk_mock_call_t *call) {
  return rd_kafka_mock_coordinator_set(call->mock->cluster, call->key, call->topic, call->broker);
}

static VALUE mock_coordinator(VALUE self, VALUE type, VALUE key, VALUE broker) {
  pk_mock_call_t call = {.run = run_coordinator, .broker = NUM2INT(broker)};

  pk_mock_name(call.key, type, "type");
  pk_mock_name(call.topic, key, "key");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_rtt(pk_mock_call_t *call) {
  return rd_kafka_mock_broker_set_rtt(call->mock->cluster, call->broker, call->number);
}

static VALUE mock_rtt(VALUE self, VALUE broker, VALUE rtt_ms) {
  pk_mock_call_t call = {.run = run_rtt, .broker = NUM2INT(broker)};

  call.number = pk_mock_int(rtt_ms, 0, INT_MAX, "rtt_ms");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_rack(pk_mock_call_t *call) {
  return rd_kafka_mock_broker_set_rack(call->mock->cluster, call->broker, call->key);
}

static VALUE mock_rack(VALUE self, VALUE broker, VALUE rack) {
  pk_mock_call_t call = {.run = run_rack, .broker = NUM2INT(broker)};

  pk_mock_name(call.key, rack, "rack");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_broker_down(pk_mock_call_t *call) {
  return rd_kafka_mock_broker_set_down(call->mock->cluster, call->broker);
}

static VALUE mock_broker_down(VALUE self, VALUE broker) {
  pk_mock_call_t call = {.run = run_broker_down, .broker = NUM2INT(broker)};

  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_broker_up(pk_mock_call_t *call) {
  return rd_kafka_mock_broker_set_up(call->mock->cluster, call->broker);
}

static VALUE mock_broker_up(VALUE self, VALUE broker) {
  pk_mock_call_t call = {.run = run_broker_up, .broker = NUM2INT(broker)};

  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_rebalance_delay(pk_mock_call_t *call) {
  rd_kafka_mock_group_initial_rebalance_delay_ms(call->mock->cluster, call->number);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static VALUE mock_rebalance_delay(VALUE self, VALUE delay_ms) {
  pk_mock_call_t call = {.run = run_rebalance_delay};

  call.number = pk_mock_int(delay_ms, 0, INT_MAX, "delay_ms");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_group_times(pk_mock_call_t *call) {
  rd_kafka_mock_set_group_consumer_session_timeout_ms(call->mock->cluster, call->number);
  rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(call->mock->cluster, call->partition);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Times that the broker sets for KIP-848 members. */
static VALUE mock_group_times(VALUE self, VALUE session_timeout_ms, VALUE heartbeat_interval_ms) {
  pk_mock_call_t call = {.run = run_group_times};

  call.number = pk_mock_int(session_timeout_ms, 1, INT_MAX, "session_timeout_ms");
  call.partition = pk_mock_int(heartbeat_interval_ms, 1, INT_MAX, "heartbeat_interval_ms");
  return pk_mock_run(self, &call);
}

static void define_calls(VALUE cMock) {
  rb_define_private_method(cMock, "topic_create", mock_topic_create, 3);
  rb_define_private_method(cMock, "topic_delete", mock_topic_delete, 1);
  rb_define_private_method(cMock, "topic_error", mock_topic_error, 2);
  rb_define_private_method(cMock, "rebalance_delay", mock_rebalance_delay, 1);
  rb_define_private_method(cMock, "group_times", mock_group_times, 2);
  rb_define_method(cMock, "delete_records", mock_delete_records, 3);
  rb_define_method(cMock, "partition_leader", mock_partition_leader, 3);
  rb_define_method(cMock, "coordinator", mock_coordinator, 3);
  rb_define_method(cMock, "set_rtt", mock_rtt, 2);
  rb_define_method(cMock, "set_rack", mock_rack, 2);
  rb_define_method(cMock, "broker_down", mock_broker_down, 1);
  rb_define_method(cMock, "broker_up", mock_broker_up, 1);
}

void Init_pk_mock(VALUE mNative) {
  VALUE cMock = rb_define_class_under(mNative, "MockCluster", rb_cObject);

  rb_define_alloc_func(cMock, mock_alloc);
  rb_define_private_method(cMock, "listen", mock_listen, 1);
  rb_define_method(cMock, "close", mock_close, 0);
  rb_define_method(cMock, "closed?", mock_closed_p, 0);
  rb_define_method(cMock, "state", mock_state, 0);
  rb_define_method(cMock, "pid", mock_pid, 0);
  rb_define_method(cMock, "bootstrap_servers", mock_bootstrap_servers, 0);
  define_calls(cMock);
  pk_mock_define_errors(cMock);
}
