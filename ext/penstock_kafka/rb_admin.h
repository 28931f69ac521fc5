#ifndef PK_ADMIN_BINDING_H
#define PK_ADMIN_BINDING_H

#include "penstock_kafka.h"

#include "core/admin.h"

#define PK_ADMIN_WHAT "admin"
#define PK_ADMIN_GRACE_MS 1000 /* librdkafka's own "timed out" error has more details than ours */

typedef struct pk_admin_call pk_admin_call_t;

/* The steps of one kind of request; they run in this order. */
typedef struct {
  rd_kafka_admin_op_t op;
  void (*build)(pk_admin_call_t *);   /* Ruby → items; optional */
  void (*options)(pk_admin_call_t *); /* other than the timeout; optional */
  void (*send)(pk_admin_call_t *);
  VALUE (*read)(pk_admin_call_t *); /* event → Ruby */
  /* librdkafka takes one item per request: send and read run once for each, and
   * the requests are in flight at the same time. read gets failures, too. */
  bool each;
} pk_admin_request_t;

/* One Admin API call in progress: its contents, the wait, the answers. The
 * ensure of pk_admin_run frees everything native in it, so the steps in between
 * may raise. */
struct pk_admin_call {
  const pk_admin_request_t *request;
  pk_admin_t *admin;
  VALUE input;
  int64_t timeout_ms;
  bool flag; /* validate only, read committed, or require stable, depending on the request */
  bool unanswered; /* no broker has answered for one of the rows; set by pk_admin_row */
  /* Freed by the ensure. */
  void **items;
  size_t count;
  void (*free_item)(void *);
  rd_kafka_AdminOptions_t *request_options;
  pk_admin_wait_t wait;
  rd_kafka_event_t **events; /* the answers, one per request */
  size_t requests;
  /* The request that send sends, or the answer that read reads. */
  size_t index;
  rd_kafka_event_t *event;
};

/* The handle of an Admin; raises if it was never opened. */
pk_admin_t *pk_admin_get(VALUE self);

/* Enters the handle, runs the steps, waits without the GVL, and returns the
 * result of read, or with each an Array of them; raises KafkaError if the request
 * as a whole failed, HandleClosedError if the handle is closed meanwhile. */
VALUE pk_admin_run(VALUE self, const pk_admin_request_t *request, VALUE input, VALUE timeout_ms, VALUE flag);

/* Raises the error of the connection if that explains err (a request that timed
 * out because no broker could be reached), else err with its message. */
NORETURN(void pk_admin_raise_failed(pk_admin_t *admin, rd_kafka_resp_err_t err, const char *message));

/* The same as the beginning of a row, [name, number, text]; [name, 0, nil] for
 * no error. For calls about many things that fail one by one. */
VALUE pk_admin_row(pk_admin_call_t *call, VALUE name, rd_kafka_resp_err_t err, const char *message);
VALUE pk_admin_error_row(pk_admin_call_t *call, VALUE name, const rd_kafka_error_t *error);

/* Raises unless the handle can read groups' offsets: see
 * Native::Admin#committed_offsets. */
void pk_admin_reads_groups(VALUE self);

/* Allocates call->count items, all NULL. */
void pk_admin_items(pk_admin_call_t *call, size_t count, void (*free_item)(void *));

/* Allocates and fills call->items with copies of the names in call->input. */
void pk_admin_names(pk_admin_call_t *call);

/* An options step: the call's flag asks what the user may do. */
void pk_admin_authorized_operations(pk_admin_call_t *call);

/* An options step: the brokers' own time limit for what they do, after which they
 * answer "timed out". */
void pk_admin_operation_timeout(pk_admin_call_t *call);

/* The text of an error, or nil for none. */
VALUE pk_admin_text(rd_kafka_resp_err_t err, const char *message);

/* [topic, partition, value] rows → list. Uses the third value as offset if
 * with_offset is true. */
rd_kafka_topic_partition_list_t *pk_admin_list(VALUE rows, bool with_offset);

/* The requests, one Ruby method each (rb_admin_*.c). */
void pk_admin_define_metadata(VALUE cAdmin);
void pk_admin_define_requests(VALUE cAdmin);
void pk_admin_define_configs(VALUE cAdmin);
void pk_admin_define_groups(VALUE cAdmin);
void pk_admin_define_group_changes(VALUE cAdmin);
void pk_admin_define_topics(VALUE cAdmin);
void pk_admin_define_acls(VALUE cAdmin);
void pk_admin_define_users(VALUE cAdmin);

#endif
