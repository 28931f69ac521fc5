#ifndef PK_ADMIN_BINDING_H
#define PK_ADMIN_BINDING_H

#include "penstock_kafka.h"

#include "core/admin.h"

typedef struct pk_admin_call pk_admin_call_t;

/* The steps of one kind of request; they run in this order. */
typedef struct {
  rd_kafka_admin_op_t op;
  void (*build)(pk_admin_call_t *);   /* Ruby → items; optional */
  void (*options)(pk_admin_call_t *); /* other than the timeout; optional */
  void (*send)(pk_admin_call_t *);
  VALUE (*read)(pk_admin_call_t *); /* event → Ruby */
} pk_admin_request_t;

/* One Admin API request in progress: its contents, the wait, the answer. The
 * ensure of pk_admin_run frees everything native in it, so the steps in between
 * may raise. */
struct pk_admin_call {
  const pk_admin_request_t *request;
  pk_admin_t *admin;
  VALUE input;
  int64_t timeout_ms;
  bool flag; /* validate only, read committed, or require stable, depending on the request */
  /* Freed by the ensure. */
  void **items;
  size_t count;
  void (*free_item)(void *);
  rd_kafka_AdminOptions_t *request_options;
  pk_admin_wait_t wait;
  rd_kafka_event_t *event;
};

/* Enters the handle, runs the steps, waits without the GVL, and returns the
 * result of read; raises KafkaError if the request as a whole failed,
 * HandleClosedError if the handle is closed meanwhile. */
VALUE pk_admin_run(VALUE self, const pk_admin_request_t *request, VALUE input, VALUE timeout_ms, VALUE flag);

/* Raises the error of the connection if that explains err (a request that timed
 * out because no broker could be reached), else err with its message. */
NORETURN(void pk_admin_raise_failed(pk_admin_t *admin, rd_kafka_resp_err_t err, const char *message));

/* Raises unless the handle was opened with a group: see
 * Native::Admin#committed_offsets. */
void pk_admin_needs_group(VALUE self);

/* Allocates call->count items, all NULL. */
void pk_admin_items(pk_admin_call_t *call, size_t count, void (*free_item)(void *));

/* [topic, partition, value] rows ↔ lists. The first uses the third value as
 * offset if with_offset is true. */
rd_kafka_topic_partition_list_t *pk_admin_list(VALUE rows, bool with_offset);

/* The requests, one Ruby method each (admin_requests.c, admin_groups.c). */
void pk_admin_define_requests(VALUE cAdmin);
void pk_admin_define_groups(VALUE cAdmin);

#endif
