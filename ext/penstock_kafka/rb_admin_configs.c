/* Requests about settings of topics, brokers and groups. Every step may raise;
 * pk_admin_run frees the native parts. */
#include "rb_admin.h"

static void free_resource(void *item) {
  rd_kafka_ConfigResource_destroy(item);
}

static VALUE row_at(VALUE rows, long index) {
  return rb_Array(rb_ary_entry(rows, index));
}

/* row: [type, name, …] */
static rd_kafka_ConfigResource_t *new_resource(VALUE row) {
  int type = NUM2INT(pk_integer(rb_ary_entry(row, 0)));
  VALUE name = rb_ary_entry(row, 1);
  rd_kafka_ConfigResource_t *resource =
      rd_kafka_ConfigResource_new((rd_kafka_ResourceType_t)type, StringValueCStr(name));

  if (!resource) rb_raise(rb_eArgError, "a resource has a type and a name");
  return resource;
}

/* -- describe --------------------------------------------------------------- */

static void build_resources(pk_admin_call_t *call) {
  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_resource);
  for (size_t i = 0; i < call->count; i++) call->items[i] = new_resource(row_at(call->input, (long)i));
}

static void send_describe_configs(pk_admin_call_t *call) {
  rd_kafka_DescribeConfigs(call->admin->handle.rk, (rd_kafka_ConfigResource_t **)call->items, call->count,
                           call->request_options, call->wait.queue);
}

static VALUE entry_row(const rd_kafka_ConfigEntry_t *entry) {
  VALUE flags = rb_ary_new_from_args(4, rd_kafka_ConfigEntry_is_default(entry) == 1 ? Qtrue : Qfalse,
                                     rd_kafka_ConfigEntry_is_read_only(entry) == 1 ? Qtrue : Qfalse,
                                     rd_kafka_ConfigEntry_is_sensitive(entry) == 1 ? Qtrue : Qfalse,
                                     rd_kafka_ConfigEntry_is_synonym(entry) == 1 ? Qtrue : Qfalse);

  return rb_ary_new_from_args(4, pk_utf8(rd_kafka_ConfigEntry_name(entry)), pk_utf8(rd_kafka_ConfigEntry_value(entry)),
                              INT2NUM((int)rd_kafka_ConfigEntry_source(entry)), flags);
}

static VALUE entry_rows(const rd_kafka_ConfigResource_t *resource) {
  size_t count, synonym_count;
  const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    const rd_kafka_ConfigEntry_t **synonyms = rd_kafka_ConfigEntry_synonyms(entries[i], &synonym_count);
    VALUE row = entry_row(entries[i]), others = rb_ary_new_capa((long)synonym_count);

    for (size_t j = 0; j < synonym_count; j++) rb_ary_push(others, entry_row(synonyms[j]));
    rb_ary_push(row, others);
    rb_ary_push(rows, row);
  }
  return rows;
}

/* A resource of a kind that this librdkafka doesn't know leaves a gap. */
static VALUE resource_rows(const rd_kafka_ConfigResource_t **resources, size_t count) {
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    const rd_kafka_ConfigResource_t *resource = resources[i];
    rd_kafka_resp_err_t err;

    if (!resource) continue;
    err = rd_kafka_ConfigResource_error(resource);
    rb_ary_push(rows, rb_ary_new_from_args(5, INT2NUM((int)rd_kafka_ConfigResource_type(resource)),
                                           pk_utf8(rd_kafka_ConfigResource_name(resource)), INT2NUM((int)err),
                                           pk_admin_text(err, rd_kafka_ConfigResource_error_string(resource)),
                                           entry_rows(resource)));
  }
  return rows;
}

static VALUE read_describe_configs(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DescribeConfigs_result_t *result = rd_kafka_event_DescribeConfigs_result(call->event);
  const rd_kafka_ConfigResource_t **resources = rd_kafka_DescribeConfigs_result_resources(result, &count);

  return resource_rows(resources, count);
}

static const pk_admin_request_t describe_configs = {
    .op = RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS,
    .build = build_resources,
    .send = send_describe_configs,
    .read = read_describe_configs,
};

/* describe_configs([[type, name], …], timeout_ms) → [[type, name, number, message or nil, entries], …], at most one of them
 * a broker; an entry is [name, value or nil, source, [default, read only, sensitive, synonym], [entry without synonyms, …]] */
static VALUE admin_describe_configs(VALUE self, VALUE resources, VALUE timeout_ms) {
  resources = rb_Array(resources);
  if (RARRAY_LEN(resources) == 0) return rb_ary_new();
  return pk_admin_run(self, &describe_configs, resources, timeout_ms, Qfalse);
}

/* -- alter ------------------------------------------------------------------ */

/* change: [operation, name, value or nil] */
static void add_change(rd_kafka_ConfigResource_t *resource, VALUE change) {
  int operation = NUM2INT(pk_integer(rb_ary_entry(change, 0)));
  VALUE name = pk_own_text(rb_ary_entry(change, 1)), value = rb_ary_entry(change, 2);
  rd_kafka_error_t *error;

  if (!NIL_P(value)) value = pk_own_text(value);
  error = rd_kafka_ConfigResource_add_incremental_config(resource, RSTRING_PTR(name),
                                                         (rd_kafka_AlterConfigOpType_t)operation,
                                                         NIL_P(value) ? NULL : RSTRING_PTR(value));
  RB_GC_GUARD(name);
  RB_GC_GUARD(value);
  if (error) pk_raise_error(error);
}

static void build_changes(pk_admin_call_t *call) {
  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_resource);
  for (size_t i = 0; i < call->count; i++) {
    VALUE row = row_at(call->input, (long)i), changes = rb_Array(rb_ary_entry(row, 2));

    call->items[i] = new_resource(row);
    for (long j = 0; j < RARRAY_LEN(changes); j++) add_change(call->items[i], row_at(changes, j));
  }
}

static void set_validate_only(pk_admin_call_t *call) {
  char error[PK_ADMIN_ERROR_BYTES];

  if (call->flag) rd_kafka_AdminOptions_set_validate_only(call->request_options, 1, error, sizeof error);
}

static void send_alter_configs(pk_admin_call_t *call) {
  rd_kafka_IncrementalAlterConfigs(call->admin->handle.rk, (rd_kafka_ConfigResource_t **)call->items, call->count,
                                   call->request_options, call->wait.queue);
}

static VALUE read_alter_configs(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_IncrementalAlterConfigs_result_t *result = rd_kafka_event_IncrementalAlterConfigs_result(call->event);
  const rd_kafka_ConfigResource_t **resources = rd_kafka_IncrementalAlterConfigs_result_resources(result, &count);

  return resource_rows(resources, count);
}

static const pk_admin_request_t alter_configs = {
    .op = RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS,
    .build = build_changes,
    .options = set_validate_only,
    .send = send_alter_configs,
    .read = read_alter_configs,
};

/* alter_configs([[type, name, [[operation, setting, value or nil], …]], …], timeout_ms, validate_only = false) →
 * rows of describe_configs, without entries */
static VALUE admin_alter_configs(int argc, VALUE *argv, VALUE self) {
  VALUE resources, timeout_ms, validate_only;

  rb_scan_args(argc, argv, "21", &resources, &timeout_ms, &validate_only);
  resources = rb_Array(resources);
  if (RARRAY_LEN(resources) == 0) return rb_ary_new();
  return pk_admin_run(self, &alter_configs, resources, timeout_ms, validate_only);
}

void pk_admin_define_configs(VALUE cAdmin) {
  rb_define_method(cAdmin, "describe_configs", admin_describe_configs, 2);
  rb_define_method(cAdmin, "alter_configs", admin_alter_configs, -1);
}
