/* Requests about access rights (ACLs). Kinds of resources, patterns, operations
 * and permissions are librdkafka's numbers. Every step may raise; pk_admin_run
 * frees the native parts. */
#include "rb_admin.h"

typedef struct {
  VALUE name, principal, host; /* texts that only we use, or nil */
  rd_kafka_ResourceType_t type;
  rd_kafka_ResourcePatternType_t pattern;
  rd_kafka_AclOperation_t operation;
  rd_kafka_AclPermissionType_t permission;
} acl_t;

static void free_acl(void *item) {
  rd_kafka_AclBinding_destroy(item);
}

static VALUE text_at(VALUE row, long index) {
  VALUE value = rb_ary_entry(row, index);

  return NIL_P(value) ? Qnil : pk_own_text(value);
}

static int number_at(VALUE row, long index) {
  return NUM2INT(pk_integer(rb_ary_entry(row, index)));
}

/* [type, name, pattern, principal, host, operation, permission] */
static acl_t acl_from(VALUE row) {
  acl_t acl;

  row = rb_Array(row);
  acl.type = (rd_kafka_ResourceType_t)number_at(row, 0);
  acl.name = text_at(row, 1);
  acl.pattern = (rd_kafka_ResourcePatternType_t)number_at(row, 2);
  acl.principal = text_at(row, 3);
  acl.host = text_at(row, 4);
  acl.operation = (rd_kafka_AclOperation_t)number_at(row, 5);
  acl.permission = (rd_kafka_AclPermissionType_t)number_at(row, 6);
  return acl;
}

static const char *c_text(VALUE text) {
  return NIL_P(text) ? NULL : RSTRING_PTR(text);
}

typedef rd_kafka_AclBinding_t *(*new_acl_t)(rd_kafka_ResourceType_t, const char *, rd_kafka_ResourcePatternType_t,
                                            const char *, const char *, rd_kafka_AclOperation_t,
                                            rd_kafka_AclPermissionType_t, char *, size_t);

static void build_acls(pk_admin_call_t *call, new_acl_t new_acl) {
  char error[PK_ADMIN_ERROR_BYTES] = "";

  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_acl);
  for (size_t i = 0; i < call->count; i++) {
    acl_t acl = acl_from(rb_ary_entry(call->input, (long)i));

    call->items[i] = new_acl(acl.type, c_text(acl.name), acl.pattern, c_text(acl.principal), c_text(acl.host),
                             acl.operation, acl.permission, error, sizeof error);
    if (!call->items[i]) rb_raise(rb_eArgError, "%s", error);
    RB_GC_GUARD(acl.name);
    RB_GC_GUARD(acl.principal);
    RB_GC_GUARD(acl.host);
  }
}

static void build_bindings(pk_admin_call_t *call) {
  build_acls(call, rd_kafka_AclBinding_new);
}

static void build_filters(pk_admin_call_t *call) {
  build_acls(call, rd_kafka_AclBindingFilter_new);
}

static VALUE binding_row(const rd_kafka_AclBinding_t *acl) {
  return rb_ary_new_from_args(7, INT2NUM((int)rd_kafka_AclBinding_restype(acl)), pk_utf8(rd_kafka_AclBinding_name(acl)),
                              INT2NUM((int)rd_kafka_AclBinding_resource_pattern_type(acl)),
                              pk_utf8(rd_kafka_AclBinding_principal(acl)), pk_utf8(rd_kafka_AclBinding_host(acl)),
                              INT2NUM((int)rd_kafka_AclBinding_operation(acl)),
                              INT2NUM((int)rd_kafka_AclBinding_permission_type(acl)));
}

/* [number, message or nil, more] */
static VALUE outcome_row(const rd_kafka_error_t *error, VALUE more) {
  rd_kafka_resp_err_t err = error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;

  return rb_ary_new_from_args(3, INT2NUM((int)err), pk_admin_text(err, error ? rd_kafka_error_string(error) : NULL),
                              more);
}

/* -- create ----------------------------------------------------------------- */

static void send_create_acls(pk_admin_call_t *call) {
  rd_kafka_CreateAcls(call->admin->handle.rk, (rd_kafka_AclBinding_t **)call->items, call->count, call->request_options,
                      call->wait.queue);
}

static VALUE read_create_acls(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_CreateAcls_result_t *result = rd_kafka_event_CreateAcls_result(call->event);
  const rd_kafka_acl_result_t **results = rd_kafka_CreateAcls_result_acls(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) rb_ary_push(rows, outcome_row(rd_kafka_acl_result_error(results[i]), Qnil));
  return rows;
}

static const pk_admin_request_t create_acls = {
    .op = RD_KAFKA_ADMIN_OP_CREATEACLS,
    .build = build_bindings,
    .send = send_create_acls,
    .read = read_create_acls,
};

/* create_acls([[type, name, pattern, principal, host, operation, permission], …], timeout_ms) →
 * [[number, message or nil, nil], …], in the same order */
static VALUE admin_create_acls(VALUE self, VALUE acls, VALUE timeout_ms) {
  acls = rb_Array(acls);
  if (RARRAY_LEN(acls) == 0) return rb_ary_new();
  return pk_admin_run(self, &create_acls, acls, timeout_ms, Qfalse);
}

/* -- describe --------------------------------------------------------------- */

static void send_describe_acls(pk_admin_call_t *call) {
  rd_kafka_DescribeAcls(call->admin->handle.rk, call->items[0], call->request_options, call->wait.queue);
}

static VALUE read_describe_acls(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DescribeAcls_result_t *result = rd_kafka_event_DescribeAcls_result(call->event);
  const rd_kafka_AclBinding_t **acls = rd_kafka_DescribeAcls_result_acls(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) rb_ary_push(rows, binding_row(acls[i]));
  return rows;
}

static const pk_admin_request_t describe_acls = {
    .op = RD_KAFKA_ADMIN_OP_DESCRIBEACLS,
    .build = build_filters,
    .send = send_describe_acls,
    .read = read_describe_acls,
};

/* describe_acls(filter, timeout_ms) → [[type, name, pattern, principal, host, operation, permission], …]; a filter is such
 * a row, in which nil and the numbers for "any" match everything */
static VALUE admin_describe_acls(VALUE self, VALUE filter, VALUE timeout_ms) {
  return pk_admin_run(self, &describe_acls, rb_ary_new_from_args(1, filter), timeout_ms, Qfalse);
}

/* -- delete ----------------------------------------------------------------- */

static void send_delete_acls(pk_admin_call_t *call) {
  rd_kafka_DeleteAcls(call->admin->handle.rk, (rd_kafka_AclBindingFilter_t **)call->items, call->count,
                      call->request_options, call->wait.queue);
}

static VALUE deleted_rows(const rd_kafka_DeleteAcls_result_response_t *response) {
  size_t count;
  const rd_kafka_AclBinding_t **acls = rd_kafka_DeleteAcls_result_response_matching_acls(response, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    rb_ary_push(rows, outcome_row(rd_kafka_AclBinding_error(acls[i]), binding_row(acls[i])));
  }
  return rows;
}

static VALUE read_delete_acls(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DeleteAcls_result_t *result = rd_kafka_event_DeleteAcls_result(call->event);
  const rd_kafka_DeleteAcls_result_response_t **responses = rd_kafka_DeleteAcls_result_responses(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    rb_ary_push(rows, outcome_row(rd_kafka_DeleteAcls_result_response_error(responses[i]), deleted_rows(responses[i])));
  }
  return rows;
}

static const pk_admin_request_t delete_acls = {
    .op = RD_KAFKA_ADMIN_OP_DELETEACLS,
    .build = build_filters,
    .send = send_delete_acls,
    .read = read_delete_acls,
};

/* delete_acls([filter, …], timeout_ms) → [[number, message or nil, [[number, message or nil, acl], …]], …], one for each
 * filter, with the ACLs that matched it */
static VALUE admin_delete_acls(VALUE self, VALUE filters, VALUE timeout_ms) {
  filters = rb_Array(filters);
  if (RARRAY_LEN(filters) == 0) return rb_ary_new();
  return pk_admin_run(self, &delete_acls, filters, timeout_ms, Qfalse);
}

void pk_admin_define_acls(VALUE cAdmin) {
  rb_define_method(cAdmin, "create_acls", admin_create_acls, 2);
  rb_define_method(cAdmin, "describe_acls", admin_describe_acls, 2);
  rb_define_method(cAdmin, "delete_acls", admin_delete_acls, 2);
}
