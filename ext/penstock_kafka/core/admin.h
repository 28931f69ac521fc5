/* The handle for administration: an rd_kafka_t that neither produces nor
 * consumes, used by any number of threads at once.
 *
 * Admin API requests are answered on a queue created for the call, so calls
 * don't wait for each other's answers; rd_kafka_queue_yield on it ends the
 * wait. rd_kafka_metadata doesn't offer that: it blocks until its own timeout,
 * so it runs on a thread of its own (a job) and the caller waits for the job's
 * condition variable, which it may leave at any moment.
 *
 * Memory is reference-counted: the Ruby object, each running job and the reaper
 * hold a reference. The rd_kafka_t is destroyed once the handle is closed and
 * no call is inside. */
#ifndef PK_CORE_ADMIN_H
#define PK_CORE_ADMIN_H

#include "handle.h"

#define PK_ADMIN_ERROR_BYTES 512

/* A call that waits for an answer. Lives on the caller's stack. */
typedef struct pk_admin_wait {
  rd_kafka_queue_t *queue;
  struct pk_admin_wait *next;
} pk_admin_wait_t;

typedef struct {
  pk_handle_t handle;
  bool grouped;              /* a consumer with a group, which it never joins */
  rd_kafka_queue_t *main;    /* errors of the connections; read at the end of a request */
  pthread_mutex_t lock;      /* guards all members up to closing; held for a few instructions */
  rd_kafka_resp_err_t error; /* the last connection error since a request succeeded */
  char error_text[PK_ADMIN_ERROR_BYTES];
  pk_admin_wait_t *waits;
  struct pk_admin_job *jobs;
  _Atomic int closing;
  _Atomic int references;
} pk_admin_t;

/* A producer that produces nothing, or with a group.id a consumer that doesn't
 * join. Takes ownership of conf in any case. NULL with a text in error. */
pk_admin_t *pk_admin_new(rd_kafka_conf_t *conf, char *error, size_t size);

/* Makes calls and jobs end, waits for them until the deadline and destroys the
 * handle; what is still inside then is left to the reaper. 1 if this call
 * closed it. Blocks: call it without the GVL. */
int pk_admin_close(pk_admin_t *admin, int64_t deadline_ms);

/* The Ruby object releases it: closed or not, in its own process or a child. */
void pk_admin_abandon(pk_admin_t *admin);

/* Creates a queue for one answer in wait; the caller has entered the handle. */
void pk_admin_wait_begin(pk_admin_t *admin, pk_admin_wait_t *wait);
void pk_admin_wait_end(pk_admin_t *admin, pk_admin_wait_t *wait);

/* The answer, or NULL: interrupted, closing or past the deadline. */
rd_kafka_event_t *pk_admin_wait_for(pk_admin_wait_t *wait, int64_t deadline_ms);

/* The last connection error, which explains why a request timed out;
 * RD_KAFKA_RESP_ERR_NO_ERROR if there was none since the last request that
 * succeeded. */
rd_kafka_resp_err_t pk_admin_last_error(pk_admin_t *admin, char *text, size_t size);
void pk_admin_forget_errors(pk_admin_t *admin);

/* -- metadata --------------------------------------------------------------- */

typedef struct pk_admin_job pk_admin_job_t;

/* Starts rd_kafka_metadata for one topic, or all if topic is NULL. NULL if no
 * thread can be created. The caller has entered the handle; the job enters it
 * too. */
pk_admin_job_t *pk_admin_job_start(pk_admin_t *admin, const char *topic, int timeout_ms);

/* True if the job has ended; false if the wait was ended (wake, close) or the
 * deadline passed. */
bool pk_admin_job_wait(pk_admin_job_t *job, int64_t deadline_ms);

/* Ends one wait, the current or the next. Any thread, but not a signal handler. */
void pk_admin_job_wake(pk_admin_job_t *job);

/* The job's result; only after pk_admin_job_wait returned true. */
rd_kafka_resp_err_t pk_admin_job_result(pk_admin_job_t *job, const struct rd_kafka_metadata **metadata);

/* The caller releases it; a job that still runs ends on its own. */
void pk_admin_job_release(pk_admin_job_t *job);

#endif
