#include "admin.h"

#include "crash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PK_FIRST_SLICE_MS 500

struct pk_admin_job {
  pk_admin_t *admin;
  pk_admin_job_t *next; /* among the admin's jobs, guarded by its lock */
  char *topic;
  int timeout_ms;
  pthread_mutex_t lock; /* guards all below */
  pthread_cond_t changed;
  int references; /* the waiting caller, the thread */
  bool woken, done;
  rd_kafka_resp_err_t result;
  const struct rd_kafka_metadata *metadata;
};

/* -- life cycle ------------------------------------------------------------------- */

static void admin_release(pk_admin_t *admin) {
  if (atomic_fetch_sub(&admin->references, 1) > 1) return;
  if (!pk_inherited(&admin->handle)) {
    pthread_mutex_destroy(&admin->lock);
    pk_handle_destroy(&admin->handle);
  }
  free(admin);
}

/* Metadata requests must not create the requested topic: librdkafka allows that
 * for producers by default. */
static void admin_settings(rd_kafka_conf_t *conf) {
  rd_kafka_conf_set(conf, "allow.auto.create.topics", "false", NULL, 0);
  rd_kafka_conf_set(conf, "log.queue", "false", NULL, 0); /* it would not be read */
  rd_kafka_conf_set_log_cb(conf, NULL);                   /* important ones arrive as error events */
  rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR);
}

/* This handle's events aren't polled while a request is in flight, so tokens
 * that librdkafka fetches by itself need its background thread. */
static bool fetches_tokens(rd_kafka_conf_t *conf) {
  char method[32] = "";
  size_t size = sizeof method;

  if (rd_kafka_conf_get(conf, "sasl.oauthbearer.method", method, &size) != RD_KAFKA_CONF_OK) return false;
  if (strcmp(method, "oidc")) return false;
  rd_kafka_conf_enable_sasl_queue(conf, 1);
  return true;
}

static bool has_group(const rd_kafka_conf_t *conf) {
  char group[256];
  size_t size = sizeof group;

  return rd_kafka_conf_get(conf, "group.id", group, &size) == RD_KAFKA_CONF_OK && size > 1;
}

pk_admin_t *pk_admin_new(rd_kafka_conf_t *conf, char *error, size_t size) {
  pk_admin_t *admin = calloc(1, sizeof *admin);
  bool grouped = has_group(conf), tokens = fetches_tokens(conf);
  rd_kafka_t *rk;

  admin_settings(conf);
  rk = admin ? pk_client_new(grouped ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER, conf, error, size) : NULL;
  if (!rk) {
    rd_kafka_conf_destroy(conf);
    free(admin);
    return NULL;
  }
  if (tokens) rd_kafka_error_destroy(rd_kafka_sasl_background_callbacks_enable(rk));
  pk_handle_init(&admin->handle);
  pthread_mutex_init(&admin->lock, NULL);
  admin->handle.rk = rk;
  admin->grouped = grouped;
  admin->main = rd_kafka_queue_get_main(rk);
  atomic_init(&admin->references, 1);
  return admin;
}

static void admin_take_down(pk_admin_t *admin) {
  rd_kafka_queue_destroy(admin->main);
  rd_kafka_destroy_flags(admin->handle.rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  admin->main = NULL;
  admin->handle.rk = NULL;
  pk_handle_closed(&admin->handle);
}

/* Runs on the reaper's thread: waits without a deadline for calls inside. */
static void admin_bury(void *pointer) {
  pk_admin_t *admin = pointer;

  pk_handle_drain(&admin->handle);
  admin_take_down(admin);
  admin_release(admin);
}

static void admin_wake_all(pk_admin_t *admin) {
  pthread_mutex_lock(&admin->lock);
  atomic_store(&admin->closing, 1);
  for (pk_admin_wait_t *wait = admin->waits; wait; wait = wait->next) rd_kafka_queue_yield(wait->queue);
  for (pk_admin_job_t *job = admin->jobs; job; job = job->next) pk_admin_job_wake(job);
  pthread_mutex_unlock(&admin->lock);
}

int pk_admin_close(pk_admin_t *admin, int64_t deadline_ms) {
  int how;

  if (pk_inherited(&admin->handle)) return 0;
  admin_wake_all(admin);
  how = pk_handle_begin_close(&admin->handle, deadline_ms);
  if (how == PK_CLOSE_DONE) return 0;
  if (how == PK_CLOSE_MINE) {
    admin_take_down(admin);
  } else {
    atomic_fetch_add(&admin->references, 1);
    if (pk_reap(admin_bury, admin)) admin_bury(admin); /* no thread could be created */
  }
  return 1;
}

void pk_admin_abandon(pk_admin_t *admin) {
  if (!pk_inherited(&admin->handle) && pk_handle_state(&admin->handle) == PK_OPEN) {
    admin_wake_all(admin);
    atomic_store(&admin->handle.state, PK_CLOSING); /* no other caller is left that could close at the same time */
    pk_reap(admin_bury, admin);
    return;
  }
  admin_release(admin);
}

/* -- calls that wait -------------------------------------------------------- */

void pk_admin_wait_begin(pk_admin_t *admin, pk_admin_wait_t *wait) {
  wait->queue = rd_kafka_queue_new(admin->handle.rk);
  pthread_mutex_lock(&admin->lock);
  wait->next = admin->waits;
  admin->waits = wait;
  if (atomic_load(&admin->closing)) rd_kafka_queue_yield(wait->queue);
  pthread_mutex_unlock(&admin->lock);
}

void pk_admin_wait_end(pk_admin_t *admin, pk_admin_wait_t *wait) {
  pk_admin_wait_t **place;

  pthread_mutex_lock(&admin->lock);
  for (place = &admin->waits; *place; place = &(*place)->next) {
    if (*place != wait) continue;
    *place = wait->next;
    break;
  }
  pthread_mutex_unlock(&admin->lock);
  rd_kafka_queue_destroy(wait->queue); /* a late answer is dropped with it */
}

rd_kafka_event_t *pk_admin_wait_for(pk_admin_wait_t *wait, int64_t deadline_ms) {
  return rd_kafka_queue_poll(wait->queue, pk_remaining_ms(deadline_ms));
}

/* "All brokers are down" has less information than the connection error before
 * it. */
static void keep_error_locked(pk_admin_t *admin, rd_kafka_event_t *event) {
  if (rd_kafka_event_type(event) != RD_KAFKA_EVENT_ERROR) return;
  if (admin->error && rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
  admin->error = rd_kafka_event_error(event);
  snprintf(admin->error_text, sizeof admin->error_text, "%s", rd_kafka_event_error_string(event));
}

static void read_errors_locked(pk_admin_t *admin) {
  rd_kafka_event_t *event;

  while ((event = rd_kafka_queue_poll(admin->main, 0))) {
    keep_error_locked(admin, event);
    rd_kafka_event_destroy(event);
  }
}

rd_kafka_resp_err_t pk_admin_last_error(pk_admin_t *admin, char *text, size_t size) {
  rd_kafka_resp_err_t error;

  pthread_mutex_lock(&admin->lock);
  read_errors_locked(admin);
  error = admin->error;
  snprintf(text, size, "%s", admin->error_text);
  pthread_mutex_unlock(&admin->lock);
  return error;
}

void pk_admin_forget_errors(pk_admin_t *admin) {
  pthread_mutex_lock(&admin->lock);
  read_errors_locked(admin);
  admin->error = RD_KAFKA_RESP_ERR_NO_ERROR;
  admin->error_text[0] = '\0';
  pthread_mutex_unlock(&admin->lock);
}

/* -- metadata --------------------------------------------------------------- */

void pk_admin_job_release(pk_admin_job_t *job) {
  int left;

  pthread_mutex_lock(&job->lock);
  left = --job->references;
  pthread_mutex_unlock(&job->lock);
  if (left) return;
  if (job->metadata) rd_kafka_metadata_destroy(job->metadata);
  pthread_cond_destroy(&job->changed);
  pthread_mutex_destroy(&job->lock);
  free(job->topic);
  free(job);
}

static void job_unlink(pk_admin_t *admin, pk_admin_job_t *job) {
  pthread_mutex_lock(&admin->lock);
  for (pk_admin_job_t **place = &admin->jobs; *place; place = &(*place)->next) {
    if (*place != job) continue;
    *place = job->next;
    break;
  }
  pthread_mutex_unlock(&admin->lock);
}

static bool job_wanted(pk_admin_job_t *job) {
  bool wanted;

  if (atomic_load(&job->admin->closing)) return false;
  pthread_mutex_lock(&job->lock);
  wanted = job->references > 1;
  pthread_mutex_unlock(&job->lock);
  return wanted;
}

/* rd_kafka_metadata can't be cancelled, so it is called with timeouts that
 * double: a slow broker gets the time it needs, and a caller that left, or a
 * close, waits no longer than has passed already. */
static rd_kafka_resp_err_t job_ask(pk_admin_job_t *job, const struct rd_kafka_metadata **metadata) {
  rd_kafka_t *rk = job->admin->handle.rk;
  rd_kafka_topic_t *topic = job->topic ? rd_kafka_topic_new(rk, job->topic, NULL) : NULL;
  int64_t deadline = pk_deadline(job->timeout_ms);
  rd_kafka_resp_err_t result;
  int slice = PK_FIRST_SLICE_MS, left;

  if (job->topic && !topic) return rd_kafka_last_error();
  do {
    left = pk_remaining_ms(deadline);
    result = rd_kafka_metadata(rk, topic == NULL, topic, metadata, left < slice ? left : slice);
    slice *= 2;
  } while ((result == RD_KAFKA_RESP_ERR__TRANSPORT || result == RD_KAFKA_RESP_ERR__TIMED_OUT) &&
           pk_remaining_ms(deadline) > 0 && job_wanted(job));
  if (topic) rd_kafka_topic_destroy(topic);
  return result;
}

static void *job_main(void *pointer) {
  pk_admin_job_t *job = pointer;
  pk_admin_t *admin = job->admin;
  const struct rd_kafka_metadata *metadata = NULL;
  rd_kafka_resp_err_t result = job_ask(job, &metadata);

  job_unlink(admin, job);
  pthread_mutex_lock(&job->lock);
  job->result = result;
  job->metadata = metadata;
  job->done = true;
  pthread_cond_broadcast(&job->changed);
  pthread_mutex_unlock(&job->lock);
  pk_admin_job_release(job);
  pk_handle_leave(&admin->handle);
  admin_release(admin);
  return NULL;
}

static pk_admin_job_t *job_new(pk_admin_t *admin, const char *topic, int timeout_ms) {
  pk_admin_job_t *job = calloc(1, sizeof *job);

  if (!job) return NULL;
  job->topic = topic ? strdup(topic) : NULL;
  job->admin = admin;
  job->timeout_ms = timeout_ms;
  job->references = 2;
  pthread_mutex_init(&job->lock, NULL);
  pk_cond_init(&job->changed);
  pthread_mutex_lock(&admin->lock);
  job->next = admin->jobs;
  admin->jobs = job;
  if (atomic_load(&admin->closing)) job->woken = true;
  pthread_mutex_unlock(&admin->lock);
  return job;
}

pk_admin_job_t *pk_admin_job_start(pk_admin_t *admin, const char *topic, int timeout_ms) {
  pk_admin_job_t *job = NULL;

  if (pk_handle_enter(&admin->handle)) return NULL;
  atomic_fetch_add(&admin->references, 1);
  job = job_new(admin, topic, timeout_ms);
  if (job && pk_thread_detach("pk:metadata", job_main, job) == 0) return job;
  if (job) {
    job_unlink(admin, job);
    job->references = 1;
    pk_admin_job_release(job);
  }
  pk_handle_leave(&admin->handle);
  admin_release(admin);
  return NULL;
}

bool pk_admin_job_wait(pk_admin_job_t *job, int64_t deadline_ms) {
  bool done;

  pthread_mutex_lock(&job->lock);
  while (!job->done && !job->woken) {
    if (!pk_cond_wait_until(&job->changed, &job->lock, deadline_ms)) break;
  }
  job->woken = false;
  done = job->done;
  pthread_mutex_unlock(&job->lock);
  return done;
}

void pk_admin_job_wake(pk_admin_job_t *job) {
  pthread_mutex_lock(&job->lock);
  job->woken = true;
  pthread_cond_broadcast(&job->changed);
  pthread_mutex_unlock(&job->lock);
}

rd_kafka_resp_err_t pk_admin_job_result(pk_admin_job_t *job, const struct rd_kafka_metadata **metadata) {
  rd_kafka_resp_err_t result;

  pthread_mutex_lock(&job->lock);
  *metadata = job->metadata;
  result = job->result;
  pthread_mutex_unlock(&job->lock);
  return result;
}
