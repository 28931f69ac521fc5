/* Penstock::Native::Admin: a handle for administration. Any thread may call any
 * method at any time; every call takes a timeout in ms and can be interrupted
 * (Thread#kill, Timeout, signals); the request itself isn't cancelled. */
#include "rb_admin.h"

#include <stdlib.h>
#include <string.h>

#include "core/crash.h"
#include "rb_error.h"
#include "rb_nogvl.h"
#include "rb_token.h"

#define WHAT PK_ADMIN_WHAT
#define CLOSE_MS 1000 /* for a metadata request in flight; the reaper waits longer */
#define GRACE_MS PK_ADMIN_GRACE_MS

/* -- the object ------------------------------------------------------------- */

static void admin_free(void *pointer) {
  pk_admin_t *admin = pointer;

  if (!admin) return;
  pk_handle_unregister(&admin->handle);
  pk_admin_abandon(admin);
}

static size_t admin_size(const void *pointer) {
  return pointer ? sizeof(pk_admin_t) : 0;
}

static const rb_data_type_t admin_type = {
    .wrap_struct_name = "Penstock::Native::Admin",
    .function = {.dfree = admin_free, .dsize = admin_size},
};

static VALUE admin_alloc(VALUE klass) {
  return TypedData_Wrap_Struct(klass, &admin_type, NULL);
}

pk_admin_t *pk_admin_get(VALUE self) {
  pk_admin_t *admin = rb_check_typeddata(self, &admin_type);

  if (!admin) pk_raise_closed(WHAT);
  return admin;
}

/* Patch 0018. */
void pk_admin_reads_groups(VALUE self) {
#ifndef PENSTOCK_PATCHED
  if (!pk_admin_get(self)->grouped) rb_raise(rb_eRuntimeError, "this request needs a handle opened with a group");
#endif
  (void)self;
}

typedef struct {
  rd_kafka_conf_t *conf;
  pk_admin_t *admin;
  char error[PK_ADMIN_ERROR_BYTES];
} open_args;

static void *open_safe(void *pointer) {
  open_args *args = pointer;
  rd_kafka_conf_t *conf = args->conf;

  args->conf = NULL;
  args->admin = pk_admin_new(conf, args->error, sizeof args->error);
  return pointer;
}

static VALUE open_body(VALUE pointer) {
  return (VALUE)pk_without_gvl(open_safe, (void *)pointer, NULL, NULL);
}

static VALUE open_cleanup(VALUE pointer) {
  open_args *args = (open_args *)pointer;

  if (args->conf) rd_kafka_conf_destroy(args->conf);
  return Qnil;
}

/* connect(conf): if conf names a group, as a consumer that doesn't join it. */
static VALUE admin_connect(VALUE self, VALUE hash) {
  open_args args = {NULL, NULL, ""};

  if (DATA_PTR(self)) rb_raise(rb_eRuntimeError, "the admin is already open");
  args.conf = pk_conf_from_hash(hash, NULL);
  rb_ensure(open_body, (VALUE)&args, open_cleanup, (VALUE)&args);
  if (!args.admin) pk_raise(RD_KAFKA_RESP_ERR__INVALID_ARG, args.error);
  DATA_PTR(self) = args.admin;
  pk_handle_register(&args.admin->handle);
  return self;
}

typedef struct {
  pk_admin_t *admin;
  int closed;
} close_args;

static void *close_safe(void *pointer) {
  close_args *args = pointer;

  args->closed = pk_admin_close(args->admin, pk_deadline(CLOSE_MS));
  return pointer;
}

/* Ends calls that wait (they raise HandleClosedError). Idempotent. */
static VALUE admin_close(VALUE self) {
  close_args args = {rb_check_typeddata(self, &admin_type), 0};
  int interrupted;

  if (!args.admin || pk_inherited(&args.admin->handle)) return Qnil;
  interrupted = pk_without_gvl_first(close_safe, &args);
  if (args.closed) pk_handle_unregister(&args.admin->handle);
  if (interrupted) rb_jump_tag(interrupted);
  return Qnil;
}

static VALUE admin_closed_p(VALUE self) {
  pk_admin_t *admin = rb_check_typeddata(self, &admin_type);

  return !admin || pk_inherited(&admin->handle) || pk_handle_state(&admin->handle) != PK_OPEN ? Qtrue : Qfalse;
}

static VALUE admin_state(VALUE self) {
  return pk_state_symbol(&pk_admin_get(self)->handle);
}

static VALUE admin_pid(VALUE self) {
  return INT2NUM((int)pk_admin_get(self)->handle.pid);
}

static VALUE admin_name(VALUE self) {
  pk_admin_t *admin = pk_admin_get(self);
  VALUE name;

  pk_enter(&admin->handle, WHAT);
  name = pk_utf8(rd_kafka_name(admin->handle.rk));
  pk_handle_leave(&admin->handle);
  return name;
}

/* -- one request ------------------------------------------------------------ */

#define PARSING " worker failed to parse response: " /* after the request's name, before the broker's text */

/* The error of a timed-out request only names the request; the reason is in the
 * errors of the connections. Those are reported. */
static rd_kafka_resp_err_t explained(pk_admin_t *admin, rd_kafka_resp_err_t err, const char *message, char *text,
                                     size_t size) {
  char reason[PK_ADMIN_ERROR_BYTES] = "";
  rd_kafka_resp_err_t cause = pk_admin_last_error(admin, reason, sizeof reason);

  if (!message) message = rd_kafka_err2str(err);
  if (strstr(message, PARSING)) message = strstr(message, PARSING) + strlen(PARSING);
  if (!cause || (err != RD_KAFKA_RESP_ERR__TIMED_OUT && err != RD_KAFKA_RESP_ERR__TRANSPORT)) {
    snprintf(text, size, "%s", message);
    return err;
  }
  snprintf(text, size, "%s (%s)", reason, message);
  return cause;
}

void pk_admin_raise_failed(pk_admin_t *admin, rd_kafka_resp_err_t err, const char *message) {
  char text[2 * PK_ADMIN_ERROR_BYTES];
  rd_kafka_resp_err_t cause = explained(admin, err, message, text, sizeof text);

  pk_raise(cause, text);
}

VALUE pk_admin_row(pk_admin_call_t *call, VALUE name, rd_kafka_resp_err_t err, const char *message) {
  char text[2 * PK_ADMIN_ERROR_BYTES];
  rd_kafka_resp_err_t cause;

  if (!err) return rb_ary_new_from_args(3, name, INT2FIX(0), Qnil);
  if (err == RD_KAFKA_RESP_ERR__TIMED_OUT || err == RD_KAFKA_RESP_ERR__TRANSPORT) call->unanswered = true;
  cause = explained(call->admin, err, message, text, sizeof text);
  return rb_ary_new_from_args(3, name, INT2NUM((int)cause), pk_utf8(text));
}

VALUE pk_admin_error_row(pk_admin_call_t *call, VALUE name, const rd_kafka_error_t *error) {
  return pk_admin_row(call, name, error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR,
                      error ? rd_kafka_error_string(error) : NULL);
}

void pk_admin_items(pk_admin_call_t *call, size_t count, void (*free_item)(void *)) {
  call->items = ZALLOC_N(void *, count ? count : 1);
  call->count = count;
  call->free_item = free_item;
}

static void free_name(void *item) {
  free(item);
}

void pk_admin_names(pk_admin_call_t *call) {
  pk_admin_items(call, (size_t)RARRAY_LEN(call->input), free_name);
  for (size_t i = 0; i < call->count; i++) {
    VALUE name = rb_ary_entry(call->input, (long)i);
    const char *text = StringValueCStr(name);

    call->items[i] = strdup(text);
    if (!call->items[i]) rb_memerror();
  }
}

VALUE pk_admin_text(rd_kafka_resp_err_t err, const char *message) {
  if (!err) return Qnil;
  return pk_utf8(message ? message : rd_kafka_err2str(err));
}

static int timeout_of(const pk_admin_call_t *call) {
  return call->timeout_ms > INT_MAX ? INT_MAX : (int)call->timeout_ms;
}

void pk_admin_operation_timeout(pk_admin_call_t *call) {
  char error[PK_ADMIN_ERROR_BYTES];

  if (rd_kafka_AdminOptions_set_operation_timeout(call->request_options, timeout_of(call), error, sizeof error)) {
    rb_raise(rb_eArgError, "timeout_ms: %s", error);
  }
}

static void admin_options(pk_admin_call_t *call) {
  char error[PK_ADMIN_ERROR_BYTES];

  call->request_options = rd_kafka_AdminOptions_new(call->admin->handle.rk, call->request->op);
  if (rd_kafka_AdminOptions_set_request_timeout(call->request_options, timeout_of(call), error, sizeof error)) {
    rb_raise(rb_eArgError, "timeout_ms: %s", error);
  }
  if (call->request->options) call->request->options(call);
}

/* librdkafka copies the options into each request. */
static void admin_send(pk_admin_call_t *call) {
  size_t requests = call->request->each ? call->count : 1;

  call->events = ZALLOC_N(rd_kafka_event_t *, requests ? requests : 1);
  call->requests = requests;
  for (call->index = 0; call->index < call->requests; call->index++) {
    rd_kafka_AdminOptions_set_opaque(call->request_options, (void *)(uintptr_t)call->index);
    call->request->send(call);
  }
}

typedef struct {
  pk_admin_call_t *call;
  int64_t deadline_ms;
  size_t answers;
} wait_args;

static void *wait_safe(void *pointer) {
  wait_args *args = pointer;
  rd_kafka_event_t *event;

  while (args->answers < args->call->requests) {
    event = pk_admin_wait_for(&args->call->wait, args->deadline_ms);
    if (!event) break;
    args->call->events[(uintptr_t)rd_kafka_event_opaque(event)] = event;
    args->answers++;
  }
  return pointer;
}

static void wait_unblock(void *pointer) {
  wait_args *args = pointer;

  rd_kafka_queue_yield(args->call->wait.queue);
}

/* Waits until all answers have arrived. An interrupt ends the wait early; its
 * exception is raised when the next wait begins. */
static void admin_wait(pk_admin_call_t *call) {
  wait_args args = {call, pk_deadline(call->timeout_ms + GRACE_MS), 0};

  while (args.answers < call->requests) {
    if (atomic_load(&call->admin->closing)) pk_raise_closed(WHAT);
    if (pk_remaining_ms(args.deadline_ms) == 0) pk_admin_raise_failed(call->admin, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL);
    pk_without_gvl(wait_safe, &args, wait_unblock, &args);
  }
}

static VALUE admin_read(pk_admin_call_t *call) {
  VALUE rows = rb_ary_new();

  for (call->index = 0; call->index < call->requests; call->index++) {
    call->event = call->events[call->index];
    rb_ary_push(rows, call->request->read(call));
  }
  return call->request->each ? rows : rb_ary_entry(rows, 0);
}

static VALUE admin_body(VALUE pointer) {
  pk_admin_call_t *call = (pk_admin_call_t *)pointer;
  VALUE result;

  if (call->request->build) call->request->build(call);
  admin_options(call);
  admin_send(call);
  admin_wait(call);
  if (!call->request->each && rd_kafka_event_error(call->events[0])) {
    pk_admin_raise_failed(call->admin, rd_kafka_event_error(call->events[0]),
                          rd_kafka_event_error_string(call->events[0]));
  }
  result = admin_read(call);
  /* A connection works again: what its errors were explains nothing any more. */
  if (!call->unanswered) pk_admin_forget_errors(call->admin);
  return result;
}

static VALUE admin_cleanup(VALUE pointer) {
  pk_admin_call_t *call = (pk_admin_call_t *)pointer;

  if (pk_inherited(&call->admin->handle)) return Qnil; /* forked in between: it belongs to the parent */
  for (size_t i = 0; i < call->requests; i++) {
    if (call->events[i]) rd_kafka_event_destroy(call->events[i]);
  }
  xfree(call->events);
  if (call->request_options) rd_kafka_AdminOptions_destroy(call->request_options);
  for (size_t i = 0; i < call->count; i++) {
    if (call->items[i]) call->free_item(call->items[i]);
  }
  xfree(call->items);
  pk_admin_wait_end(call->admin, &call->wait);
  pk_handle_leave(&call->admin->handle);
  return Qnil;
}

VALUE pk_admin_run(VALUE self, const pk_admin_request_t *request, VALUE input, VALUE timeout_ms, VALUE flag) {
  pk_admin_call_t call = {.request = request, .input = input, .timeout_ms = NUM2LL(timeout_ms), .flag = RTEST(flag)};

  call.admin = pk_admin_get(self);
  if (call.timeout_ms < 0) rb_raise(rb_eArgError, "timeout_ms must not be negative");
  pk_enter(&call.admin->handle, WHAT);
  pk_crash_note("%s: admin request %d", rd_kafka_name(call.admin->handle.rk), (int)request->op);
  pk_admin_wait_begin(call.admin, &call.wait);
  return rb_ensure(admin_body, (VALUE)&call, admin_cleanup, (VALUE)&call);
}

/* set_token(token, expires_at_ms, principal, [name, value, …]): SASL/OAUTHBEARER. */
static VALUE admin_set_token(VALUE self, VALUE token, VALUE expires_at_ms, VALUE principal, VALUE extensions) {
  pk_token_t it = pk_token_read(token, expires_at_ms, principal, extensions);
  rd_kafka_resp_err_t err = pk_token_set(&pk_admin_get(self)->handle, WHAT, &it);

  if (err) pk_raise(err, it.error);
  return Qnil;
}

void Init_pk_admin(VALUE mNative) {
  VALUE cAdmin = rb_define_class_under(mNative, "Admin", rb_cObject);

  rb_define_alloc_func(cAdmin, admin_alloc);
  rb_define_private_method(cAdmin, "connect", admin_connect, 1);
  rb_define_private_method(cAdmin, "disconnect", admin_close, 0);
  rb_define_method(cAdmin, "closed?", admin_closed_p, 0);
  rb_define_method(cAdmin, "state", admin_state, 0);
  rb_define_method(cAdmin, "pid", admin_pid, 0);
  rb_define_method(cAdmin, "name", admin_name, 0);
  rb_define_method(cAdmin, "set_token", admin_set_token, 4);
  pk_admin_define_metadata(cAdmin);
  pk_admin_define_requests(cAdmin);
  pk_admin_define_configs(cAdmin);
  pk_admin_define_groups(cAdmin);
  pk_admin_define_group_changes(cAdmin);
  pk_admin_define_topics(cAdmin);
  pk_admin_define_acls(cAdmin);
  pk_admin_define_users(cAdmin);
}
