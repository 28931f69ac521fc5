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

#define WHAT "admin"
#define CLOSE_MS 1000 /* for a metadata request in flight; the reaper waits longer */
#define GRACE_MS 1000 /* librdkafka's own "timed out" error has more details than ours */

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

static pk_admin_t *admin_get(VALUE self) {
  pk_admin_t *admin = rb_check_typeddata(self, &admin_type);

  if (!admin) pk_raise_closed(WHAT);
  return admin;
}

void pk_admin_needs_group(VALUE self) {
  if (!admin_get(self)->grouped) rb_raise(rb_eRuntimeError, "this request needs a handle opened with a group");
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
  return pk_state_symbol(&admin_get(self)->handle);
}

static VALUE admin_pid(VALUE self) {
  return INT2NUM((int)admin_get(self)->handle.pid);
}

static VALUE admin_name(VALUE self) {
  pk_admin_t *admin = admin_get(self);
  VALUE name;

  pk_enter(&admin->handle, WHAT);
  name = pk_utf8(rd_kafka_name(admin->handle.rk));
  pk_handle_leave(&admin->handle);
  return name;
}

/* -- one request ------------------------------------------------------------ */

/* The error of a timed-out request only names the request; the reason is in the
 * errors of the connections. Those are raised. */
void pk_admin_raise_failed(pk_admin_t *admin, rd_kafka_resp_err_t err, const char *message) {
  char reason[PK_ADMIN_ERROR_BYTES] = "", text[2 * PK_ADMIN_ERROR_BYTES];
  rd_kafka_resp_err_t cause = pk_admin_last_error(admin, reason, sizeof reason);

  if (!message) message = rd_kafka_err2str(err);
  if (!cause || (err != RD_KAFKA_RESP_ERR__TIMED_OUT && err != RD_KAFKA_RESP_ERR__TRANSPORT)) pk_raise(err, message);
  snprintf(text, sizeof text, "%s (%s)", reason, message);
  pk_raise(cause, text);
}

void pk_admin_items(pk_admin_call_t *call, size_t count, void (*free_item)(void *)) {
  call->items = ZALLOC_N(void *, count ? count : 1);
  call->count = count;
  call->free_item = free_item;
}

static void admin_options(pk_admin_call_t *call) {
  char error[PK_ADMIN_ERROR_BYTES];
  int timeout_ms = call->timeout_ms > INT_MAX ? INT_MAX : (int)call->timeout_ms;

  call->request_options = rd_kafka_AdminOptions_new(call->admin->handle.rk, call->request->op);
  if (rd_kafka_AdminOptions_set_request_timeout(call->request_options, timeout_ms, error, sizeof error)) {
    rb_raise(rb_eArgError, "timeout_ms: %s", error);
  }
  if (call->request->options) call->request->options(call);
}

typedef struct {
  pk_admin_call_t *call;
  int64_t deadline_ms;
} wait_args;

static void *wait_safe(void *pointer) {
  wait_args *args = pointer;

  args->call->event = pk_admin_wait_for(&args->call->wait, args->deadline_ms);
  return pointer;
}

static void wait_unblock(void *pointer) {
  wait_args *args = pointer;

  rd_kafka_queue_yield(args->call->wait.queue);
}

/* Waits until the answer has arrived. An interrupt ends the wait early; its
 * exception is raised when the next wait begins. */
static void admin_wait(pk_admin_call_t *call) {
  wait_args args = {call, pk_deadline(call->timeout_ms + GRACE_MS)};

  while (!call->event) {
    if (atomic_load(&call->admin->closing)) pk_raise_closed(WHAT);
    if (pk_remaining_ms(args.deadline_ms) == 0) pk_admin_raise_failed(call->admin, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL);
    pk_without_gvl(wait_safe, &args, wait_unblock, &args);
  }
}

static VALUE admin_body(VALUE pointer) {
  pk_admin_call_t *call = (pk_admin_call_t *)pointer;
  VALUE result;

  if (call->request->build) call->request->build(call);
  admin_options(call);
  call->request->send(call);
  admin_wait(call);
  if (rd_kafka_event_error(call->event)) {
    pk_admin_raise_failed(call->admin, rd_kafka_event_error(call->event), rd_kafka_event_error_string(call->event));
  }
  result = call->request->read(call);
  pk_admin_forget_errors(call->admin);
  return result;
}

static VALUE admin_cleanup(VALUE pointer) {
  pk_admin_call_t *call = (pk_admin_call_t *)pointer;

  if (pk_inherited(&call->admin->handle)) return Qnil; /* forked in between: it belongs to the parent */
  if (call->event) rd_kafka_event_destroy(call->event);
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

  call.admin = admin_get(self);
  if (call.timeout_ms < 0) rb_raise(rb_eArgError, "timeout_ms must not be negative");
  pk_enter(&call.admin->handle, WHAT);
  pk_crash_note("%s: admin request %d", rd_kafka_name(call.admin->handle.rk), (int)request->op);
  pk_admin_wait_begin(call.admin, &call.wait);
  return rb_ensure(admin_body, (VALUE)&call, admin_cleanup, (VALUE)&call);
}

/* -- metadata --------------------------------------------------------------- */

typedef struct {
  pk_admin_t *admin;
  pk_admin_job_t *job;
  int64_t deadline_ms;
  bool done;
} job_args;

static void *job_safe(void *pointer) {
  job_args *args = pointer;

  args->done = pk_admin_job_wait(args->job, args->deadline_ms);
  return pointer;
}

static void job_unblock(void *pointer) {
  pk_admin_job_wake(pointer);
}

static VALUE partition_hash(const struct rd_kafka_metadata_partition *partition) {
  VALUE hash = rb_hash_new(), replicas = rb_ary_new(), isrs = rb_ary_new();

  for (int i = 0; i < partition->replica_cnt; i++) rb_ary_push(replicas, INT2NUM(partition->replicas[i]));
  for (int i = 0; i < partition->isr_cnt; i++) rb_ary_push(isrs, INT2NUM(partition->isrs[i]));
  rb_hash_aset(hash, ID2SYM(rb_intern("leader")), INT2NUM(partition->leader));
  rb_hash_aset(hash, ID2SYM(rb_intern("replicas")), replicas);
  rb_hash_aset(hash, ID2SYM(rb_intern("isrs")), isrs);
  rb_hash_aset(hash, ID2SYM(rb_intern("error")), INT2NUM((int)partition->err));
  return hash;
}

static VALUE topic_hash(const struct rd_kafka_metadata_topic *topic) {
  VALUE hash = rb_hash_new(), partitions = rb_hash_new();

  for (int i = 0; i < topic->partition_cnt; i++) {
    rb_hash_aset(partitions, INT2NUM(topic->partitions[i].id), partition_hash(&topic->partitions[i]));
  }
  rb_hash_aset(hash, ID2SYM(rb_intern("error")), INT2NUM((int)topic->err));
  rb_hash_aset(hash, ID2SYM(rb_intern("partitions")), partitions);
  return hash;
}

/* rd_kafka_clusterid and controllerid return the values cached from this very
 * metadata; with a timeout of 0 they don't wait. */
static VALUE metadata_hash(pk_admin_t *admin, const struct rd_kafka_metadata *metadata) {
  VALUE hash = rb_hash_new(), brokers = rb_ary_new(), topics = rb_hash_new();
  char *cluster_id = rd_kafka_clusterid(admin->handle.rk, 0);

  rb_hash_aset(hash, ID2SYM(rb_intern("cluster_id")), pk_utf8(cluster_id));
  if (cluster_id) rd_kafka_mem_free(admin->handle.rk, cluster_id);
  for (int i = 0; i < metadata->broker_cnt; i++) {
    const struct rd_kafka_metadata_broker *broker = &metadata->brokers[i];

    rb_ary_push(brokers, rb_ary_new_from_args(3, INT2NUM(broker->id), pk_utf8(broker->host), INT2NUM(broker->port)));
  }
  for (int i = 0; i < metadata->topic_cnt; i++) {
    rb_hash_aset(topics, pk_utf8_frozen(metadata->topics[i].topic), topic_hash(&metadata->topics[i]));
  }
  rb_hash_aset(hash, ID2SYM(rb_intern("controller")), INT2NUM(rd_kafka_controllerid(admin->handle.rk, 0)));
  rb_hash_aset(hash, ID2SYM(rb_intern("brokers")), brokers);
  rb_hash_aset(hash, ID2SYM(rb_intern("topics")), topics);
  return hash;
}

static VALUE metadata_body(VALUE pointer) {
  job_args *args = (job_args *)pointer;
  const struct rd_kafka_metadata *metadata;
  rd_kafka_resp_err_t err;

  while (!args->done) {
    if (atomic_load(&args->admin->closing)) pk_raise_closed(WHAT);
    if (pk_remaining_ms(args->deadline_ms) == 0) pk_admin_raise_failed(args->admin, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL);
    pk_without_gvl(job_safe, args, job_unblock, args->job);
  }
  err = pk_admin_job_result(args->job, &metadata);
  if (err) pk_admin_raise_failed(args->admin, err, NULL);
  pk_admin_forget_errors(args->admin);
  return metadata_hash(args->admin, metadata);
}

static VALUE metadata_cleanup(VALUE pointer) {
  job_args *args = (job_args *)pointer;

  if (pk_inherited(&args->admin->handle)) return Qnil;
  pk_admin_job_release(args->job);
  pk_handle_leave(&args->admin->handle);
  return Qnil;
}

/* metadata(topic or nil for all, timeout_ms) → {cluster_id:, controller:,
 * brokers: [[id, host, port], …], topics: {name => {error:, partitions: {id =>
 * {leader:, replicas:, isrs:, error:}}}}}. Creates no topic. */
static VALUE admin_metadata(VALUE self, VALUE topic, VALUE timeout) {
  VALUE name = NIL_P(topic) ? Qnil : pk_own_text(topic);
  int timeout_ms = NUM2INT(timeout);
  job_args args = {admin_get(self), NULL, pk_deadline((int64_t)timeout_ms + GRACE_MS), false};

  if (timeout_ms < 0) rb_raise(rb_eArgError, "timeout_ms must not be negative");
  pk_enter(&args.admin->handle, WHAT);
  args.job = pk_admin_job_start(args.admin, NIL_P(name) ? NULL : RSTRING_PTR(name), timeout_ms);
  RB_GC_GUARD(name);
  if (!args.job) {
    pk_handle_leave(&args.admin->handle);
    pk_raise(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, "can't create a thread for the metadata request");
  }
  return rb_ensure(metadata_body, (VALUE)&args, metadata_cleanup, (VALUE)&args);
}

/* set_token(token, expires_at_ms, principal, [name, value, …]): SASL/OAUTHBEARER. */
static VALUE admin_set_token(VALUE self, VALUE token, VALUE expires_at_ms, VALUE principal, VALUE extensions) {
  pk_token_t it = pk_token_read(token, expires_at_ms, principal, extensions);
  rd_kafka_resp_err_t err = pk_token_set(&admin_get(self)->handle, WHAT, &it);

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
  rb_define_method(cAdmin, "metadata", admin_metadata, 2);
  rb_define_method(cAdmin, "set_token", admin_set_token, 4);
  pk_admin_define_requests(cAdmin);
  pk_admin_define_groups(cAdmin);
}
