/* Requests about users that log in with SCRAM. Every step may raise;
 * pk_admin_run frees the native parts. */
#include "rb_admin.h"

/* -- describe --------------------------------------------------------------- */

static void send_describe_users(pk_admin_call_t *call) {
  rd_kafka_DescribeUserScramCredentials(call->admin->handle.rk, (const char **)call->items, call->count,
                                        call->request_options, call->wait.queue);
}

static VALUE user_row(const rd_kafka_UserScramCredentialsDescription_t *user) {
  const rd_kafka_error_t *error = rd_kafka_UserScramCredentialsDescription_error(user);
  rd_kafka_resp_err_t err = error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;
  size_t count = rd_kafka_UserScramCredentialsDescription_scramcredentialinfo_count(user);
  VALUE credentials = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    const rd_kafka_ScramCredentialInfo_t *info =
        rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(user, i);

    rb_ary_push(credentials, rb_ary_new_from_args(2, INT2NUM((int)rd_kafka_ScramCredentialInfo_mechanism(info)),
                                                  INT2NUM(rd_kafka_ScramCredentialInfo_iterations(info))));
  }
  return rb_ary_new_from_args(4, pk_utf8(rd_kafka_UserScramCredentialsDescription_user(user)), INT2NUM((int)err),
                              pk_admin_text(err, error ? rd_kafka_error_string(error) : NULL), credentials);
}

static VALUE read_describe_users(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_DescribeUserScramCredentials_result_t *result =
      rd_kafka_event_DescribeUserScramCredentials_result(call->event);
  const rd_kafka_UserScramCredentialsDescription_t **users =
      rd_kafka_DescribeUserScramCredentials_result_descriptions(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) rb_ary_push(rows, user_row(users[i]));
  return rows;
}

static const pk_admin_request_t describe_users = {
    .op = RD_KAFKA_ADMIN_OP_DESCRIBEUSERSCRAMCREDENTIALS,
    .build = pk_admin_names,
    .send = send_describe_users,
    .read = read_describe_users,
};

/* describe_users([name, …] or [] for all, timeout_ms) →
 * [[name, number, message or nil, [[mechanism, iterations], …]], …] */
static VALUE admin_describe_users(VALUE self, VALUE names, VALUE timeout_ms) {
  return pk_admin_run(self, &describe_users, rb_Array(names), timeout_ms, Qfalse);
}

/* -- alter ------------------------------------------------------------------ */

static void free_alteration(void *item) {
  rd_kafka_UserScramCredentialAlteration_destroy(item);
}

/* [name, mechanism, iterations or nil, password, salt or nil]: without
 * iterations the credential is deleted. librdkafka draws a salt of 64 bytes, where
 * it has OpenSSL. */
static rd_kafka_UserScramCredentialAlteration_t *alteration_from(VALUE row) {
  VALUE name = pk_own_text(rb_ary_entry(row, 0)), password, salt, iterations = rb_ary_entry(row, 2);
  rd_kafka_ScramMechanism_t mechanism = (rd_kafka_ScramMechanism_t)NUM2INT(pk_integer(rb_ary_entry(row, 1)));
  rd_kafka_UserScramCredentialAlteration_t *alteration;

  if (NIL_P(iterations)) {
    alteration = rd_kafka_UserScramCredentialDeletion_new(RSTRING_PTR(name), mechanism);
    RB_GC_GUARD(name);
    return alteration;
  }
  password = rb_ary_entry(row, 3);
  salt = rb_ary_entry(row, 4);
  Check_Type(password, T_STRING);
  if (!NIL_P(salt)) Check_Type(salt, T_STRING);
  alteration = rd_kafka_UserScramCredentialUpsertion_new(
      RSTRING_PTR(name), mechanism, NUM2INT(pk_integer(iterations)), (const unsigned char *)RSTRING_PTR(password),
      (size_t)RSTRING_LEN(password), NIL_P(salt) ? NULL : (const unsigned char *)RSTRING_PTR(salt),
      NIL_P(salt) ? 0 : (size_t)RSTRING_LEN(salt));
  RB_GC_GUARD(name);
  RB_GC_GUARD(password);
  RB_GC_GUARD(salt);
  return alteration;
}

static void build_alter_users(pk_admin_call_t *call) {
  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_alteration);
  for (size_t i = 0; i < call->count; i++) {
    call->items[i] = alteration_from(rb_Array(rb_ary_entry(call->input, (long)i)));
  }
}

static void send_alter_users(pk_admin_call_t *call) {
  rd_kafka_AlterUserScramCredentials(call->admin->handle.rk, (rd_kafka_UserScramCredentialAlteration_t **)call->items,
                                     call->count, call->request_options, call->wait.queue);
}

static VALUE read_alter_users(pk_admin_call_t *call) {
  size_t count;
  const rd_kafka_AlterUserScramCredentials_result_t *result =
      rd_kafka_event_AlterUserScramCredentials_result(call->event);
  const rd_kafka_AlterUserScramCredentials_result_response_t **responses =
      rd_kafka_AlterUserScramCredentials_result_responses(result, &count);
  VALUE rows = rb_ary_new_capa((long)count);

  for (size_t i = 0; i < count; i++) {
    const rd_kafka_error_t *error = rd_kafka_AlterUserScramCredentials_result_response_error(responses[i]);
    rd_kafka_resp_err_t err = error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;

    rb_ary_push(rows, rb_ary_new_from_args(
                          3, pk_utf8(rd_kafka_AlterUserScramCredentials_result_response_user(responses[i])),
                          INT2NUM((int)err), pk_admin_text(err, error ? rd_kafka_error_string(error) : NULL)));
  }
  return rows;
}

static const pk_admin_request_t alter_users = {
    .op = RD_KAFKA_ADMIN_OP_ALTERUSERSCRAMCREDENTIALS,
    .build = build_alter_users,
    .send = send_alter_users,
    .read = read_alter_users,
};

/* alter_users([[name, mechanism, iterations or nil, password, salt or nil], …], timeout_ms) →
 * [[name, number, message or nil], …] */
static VALUE admin_alter_users(VALUE self, VALUE changes, VALUE timeout_ms) {
  changes = rb_Array(changes);
  if (RARRAY_LEN(changes) == 0) return rb_ary_new();
  return pk_admin_run(self, &alter_users, changes, timeout_ms, Qfalse);
}

void pk_admin_define_users(VALUE cAdmin) {
  rb_define_method(cAdmin, "describe_users", admin_describe_users, 2);
  rb_define_method(cAdmin, "alter_users", admin_alter_users, 2);
}
