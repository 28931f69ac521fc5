/* Errors that a mock cluster returns for the next requests, and the requests it
 * has received. */
#include "rb_mock_call.h"

/* -- injected errors -------------------------------------------------------- */

static rd_kafka_resp_err_t run_push_errors(pk_mock_call_t *call) {
  rd_kafka_mock_push_request_errors_array(call->mock->cluster, (int16_t)call->api_key, call->count, call->errors);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static VALUE mock_push_errors(VALUE self, VALUE api_key, VALUE numbers) {
  pk_mock_call_t call = {.run = run_push_errors, .api_key = pk_mock_int(api_key, 0, INT16_MAX, "api key")};
  VALUE buffer = Qnil;

  Check_Type(numbers, T_ARRAY);
  call.count = (size_t)RARRAY_LEN(numbers);
  call.errors = ALLOCV_N(rd_kafka_resp_err_t, buffer, call.count);
  for (size_t i = 0; i < call.count; i++) call.errors[i] = NUM2INT(rb_ary_entry(numbers, (long)i));
  pk_mock_run(self, &call);
  ALLOCV_END(buffer);
  return Qnil;
}

static rd_kafka_resp_err_t run_push_error_rtt(pk_mock_call_t *call) {
  return pk_mock_push_error_rtt(call->mock, call->broker, call->api_key, call->number, call->partition);
}

static VALUE mock_push_error_rtt(VALUE self, VALUE broker, VALUE api_key, VALUE number, VALUE rtt_ms) {
  pk_mock_call_t call = {.run = run_push_error_rtt, .broker = NUM2INT(broker), .number = NUM2INT(number)};

  call.api_key = pk_mock_int(api_key, 0, INT16_MAX, "api key");
  call.partition = pk_mock_int(rtt_ms, 0, INT_MAX, "rtt_ms");
  return pk_mock_run(self, &call);
}

static rd_kafka_resp_err_t run_clear_errors(pk_mock_call_t *call) {
  rd_kafka_mock_clear_request_errors(call->mock->cluster, (int16_t)call->api_key);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static VALUE mock_clear_errors(VALUE self, VALUE api_key) {
  pk_mock_call_t call = {.run = run_clear_errors, .api_key = pk_mock_int(api_key, 0, INT16_MAX, "api key")};

  return pk_mock_run(self, &call);
}

/* -- requests --- ---------------------------------------------------------- */

static rd_kafka_resp_err_t run_track(pk_mock_call_t *call) {
  if (call->number) {
    rd_kafka_mock_start_request_tracking(call->mock->cluster);
  } else {
    rd_kafka_mock_stop_request_tracking(call->mock->cluster);
  }
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static VALUE mock_track(VALUE self, VALUE on) {
  pk_mock_call_t call = {.run = run_track, .number = RTEST(on)};

  return pk_mock_run(self, &call);
}

typedef struct {
  rd_kafka_mock_request_t **requests;
  size_t count;
} request_list_t;

static VALUE requests_array(VALUE pointer) {
  const request_list_t *list = (const request_list_t *)pointer;
  VALUE rows = rb_ary_new_capa((long)list->count);

  for (size_t i = 0; i < list->count; i++) {
    rd_kafka_mock_request_t *request = list->requests[i];

    rb_ary_push(rows, rb_ary_new_from_args(3, INT2NUM(rd_kafka_mock_request_id(request)),
                                           INT2NUM(rd_kafka_mock_request_api_key(request)),
                                           LL2NUM(rd_kafka_mock_request_timestamp(request) / 1000)));
  }
  return rows;
}

/* → [[broker, api_key, timestamp_ms], …] since tracking was enabled. */
static VALUE mock_requests(VALUE self) {
  pk_mock_t *mock = pk_mock_get(self);
  request_list_t list = {NULL, 0};
  VALUE rows;
  int state = 0;

  pk_enter(&mock->handle, PK_MOCK_WHAT);
  list.requests = rd_kafka_mock_get_requests(mock->cluster, &list.count);
  rows = rb_protect(requests_array, (VALUE)&list, &state);
  if (list.requests) rd_kafka_mock_request_destroy_array(list.requests, list.count);
  pk_handle_leave(&mock->handle);
  if (state) rb_jump_tag(state);
  return rows;
}

void pk_mock_define_errors(VALUE cMock) {
  rb_define_private_method(cMock, "push_errors", mock_push_errors, 2);
  rb_define_private_method(cMock, "push_error_rtt", mock_push_error_rtt, 4);
  rb_define_private_method(cMock, "clear_errors", mock_clear_errors, 1);
  rb_define_private_method(cMock, "track", mock_track, 1);
  rb_define_private_method(cMock, "tracked", mock_requests, 0);
}
