#include "committed.h"
#include "crash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PK_EVENTS                                                                                        \
  (RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_OFFSET_COMMIT | \
   RD_KAFKA_EVENT_LOG | RD_KAFKA_EVENT_FETCH)

void pk_failure_set(pk_failure_t *failure, int number, const char *text) {
  failure->number = number;
  snprintf(failure->text, sizeof failure->text, "%s", text ? text : "");
}

bool pk_failure_take(pk_failure_t *failure, rd_kafka_error_t *error) {
  if (!error) return false;
  pk_failure_set(failure, rd_kafka_error_code(error), rd_kafka_error_string(error));
  rd_kafka_error_destroy(error);
  return true;
}

/* ---- creation ---- */

static void pk_consumer_forked(pk_handle_t *handle) {
  pk_wake_forget(&((pk_consumer_t *)handle)->wake);
}

static void pk_consumer_rouse(pk_handle_t *handle) {
  pk_wake_signal(&((pk_consumer_t *)handle)->wake);
}

/* Runs on librdkafka's threads, under the queue's lock. */
static void pk_consumer_on_event(rd_kafka_t *rk, void *opaque) {
  (void)rk;
  pk_wake_signal(&((pk_consumer_t *)opaque)->wake);
}

static char *pk_conf_value(rd_kafka_conf_t *conf, const char *name) {
  char value[PK_TEXT_BYTES] = "";
  size_t size = sizeof value;

  if (rd_kafka_conf_get(conf, name, value, &size) != RD_KAFKA_CONF_OK || !*value) return NULL;
  return pk_strdup(value);
}

/* Properties of our own patches (patches/), unknown to an unpatched librdkafka:
 * there they are left out, and every lane stops until a rebalance is answered. */
bool pk_consumer_patched(rd_kafka_conf_t *conf) {
  char text[PK_TEXT_BYTES];

  rd_kafka_conf_set(conf, "statistics.assigned.only", "true", text, sizeof text);
  return rd_kafka_conf_set(conf, "rebalance.pause.partitions", "false", text, sizeof text) == RD_KAFKA_CONF_OK;
}

static bool pk_conf_is(rd_kafka_conf_t *conf, const char *name, const char *wanted) {
  char *value = pk_conf_value(conf, name);
  bool same = value && !strcmp(value, wanted);

  free(value);
  return same;
}

/* Tokens that librdkafka fetches itself are fetched on its background thread:
 * the poll loop must not wait for a web server. All others are requested with
 * an event. */
static bool pk_conf_fetches_tokens(rd_kafka_conf_t *conf) {
  return pk_conf_is(conf, "sasl.oauthbearer.method", "oidc") ||
         pk_conf_is(conf, "enable.sasl.oauthbearer.unsecure.jwt", "true");
}

static rd_kafka_t *pk_consumer_make(rd_kafka_conf_t *conf, pk_failure_t *failure) {
  bool fetches = pk_conf_fetches_tokens(conf);
  char text[PK_TEXT_BYTES];
  rd_kafka_t *rk;

  rd_kafka_conf_set_events(conf, fetches ? PK_EVENTS : PK_EVENTS | RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH);
  if (fetches) rd_kafka_conf_enable_sasl_queue(conf, 1);
  pk_consumer_patched(conf);
  rd_kafka_conf_set(conf, "log.queue", "true", text, sizeof text);
  rk = pk_client_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
  if (rk && fetches) rd_kafka_error_destroy(rd_kafka_sasl_background_callbacks_enable(rk));
  if (rk) return rk;
  pk_failure_set(failure, rd_kafka_last_error(), text);
  rd_kafka_conf_destroy(conf);
  return NULL;
}

/* Statistics, errors and token requests come from the main queue, logs from
 * their own: both are forwarded to the consumer queue, the only one that is
 * polled. */
static void pk_consumer_plumb(pk_consumer_t *consumer) {
  rd_kafka_t *rk = consumer->handle.rk;

  rd_kafka_poll_set_consumer(rk);
  consumer->queue = rd_kafka_queue_get_consumer(rk);
  consumer->replies = rd_kafka_queue_new(rk);
  rd_kafka_queue_cb_event_enable(consumer->queue, pk_consumer_on_event, consumer);
  rd_kafka_queue_cb_event_enable(consumer->replies, pk_consumer_on_event, consumer);
  rd_kafka_set_log_queue(rk, consumer->queue);
  /* Readiness is only signalled on edges: the first poll finds events queued
   * before it was enabled. */
  pk_wake_signal(&consumer->wake);
}

static pk_consumer_t *pk_consumer_alloc(void) {
  pk_consumer_t *consumer = pk_malloc(sizeof *consumer);

  memset(consumer, 0, sizeof *consumer);
  pk_handle_init(&consumer->handle);
  consumer->handle.forked = pk_consumer_forked;
  consumer->handle.rouse = pk_consumer_rouse;
  atomic_init(&consumer->refs, 1);
  consumer->hub.wake = &consumer->wake;
  atomic_init(&consumer->hub.ready, NULL);
  return consumer;
}

static void pk_consumer_free(pk_consumer_t *consumer) {
  pk_handle_destroy(&consumer->handle);
  pk_consumer_drop_committed(consumer);
  free(consumer->pending);
  free(consumer);
}

/* Without a group librdkafka creates a handle that has no consumer queue. */
static bool pk_consumer_start(pk_consumer_t *consumer, rd_kafka_conf_t *conf, pk_failure_t *failure) {
  char *group_id = pk_conf_value(conf, "group.id");
  bool grouped = group_id != NULL;

  free(group_id);
  if (!grouped) {
    rd_kafka_conf_destroy(conf);
    pk_failure_set(failure, RD_KAFKA_RESP_ERR__INVALID_ARG, "a consumer needs a group.id");
    return false;
  }
  consumer->handle.rk = pk_consumer_make(conf, failure);
  if (!consumer->handle.rk) return false;
  pk_consumer_plumb(consumer);
  return true;
}

pk_consumer_t *pk_consumer_new(rd_kafka_conf_t *conf, pk_failure_t *failure) {
  pk_consumer_t *consumer = pk_consumer_alloc();
  int err = pk_wake_init(&consumer->wake);

  if (err) {
    pk_failure_set(failure, RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, strerror(err));
    rd_kafka_conf_destroy(conf);
  } else if (pk_consumer_start(consumer, conf, failure)) {
    return consumer;
  }
  pk_wake_close(&consumer->wake);
  pk_consumer_free(consumer);
  return NULL;
}

void pk_consumer_ref(pk_consumer_t *consumer) {
  atomic_fetch_add(&consumer->refs, 1);
}

void pk_consumer_unref(pk_consumer_t *consumer) {
  if (atomic_fetch_sub(&consumer->refs, 1) == 1) pk_consumer_free(consumer);
}

/* ---- enter and leave ---- */

int pk_loop_enter(pk_consumer_t *consumer) {
  int result = pk_handle_enter(&consumer->handle);

  if (result) return result;
  if (!atomic_exchange(&consumer->in_loop, 1)) return 0;
  pk_handle_leave(&consumer->handle);
  return PK_E_BUSY;
}

void pk_loop_leave(pk_consumer_t *consumer) {
  atomic_store(&consumer->in_loop, 0);
  pk_handle_leave(&consumer->handle);
}

bool pk_consumer_wait(pk_consumer_t *consumer, int timeout_ms) {
  if (consumer->more) timeout_ms = 0;
  return pk_wake_wait(&consumer->wake, timeout_ms) || consumer->more;
}

int pk_consumer_query_enter(pk_consumer_t *consumer) {
  int result = pk_handle_enter(&consumer->handle);

  if (result) return result;
  pk_consumer_ref(consumer);
  pthread_mutex_lock(&consumer->handle.lock);
  consumer->queries++;
  pthread_mutex_unlock(&consumer->handle.lock);
  pk_handle_leave(&consumer->handle);
  return 0;
}

void pk_consumer_query_leave(pk_consumer_t *consumer) {
  pthread_mutex_lock(&consumer->handle.lock);
  if (--consumer->queries == 0) pthread_cond_broadcast(&consumer->handle.idle);
  pthread_mutex_unlock(&consumer->handle.lock);
  pk_consumer_unref(consumer);
}
