#include "producer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash.h"
#include "producer_events.h"
#include "producer_topics.h"
#include "thread.h"

#define PK_FLUSH_SLICE_MS 100
#define PK_LONE_FLUSH_MS 2
#define PK_LAST_FLUSH_MS 1000
#define PK_REPORTS_LIMIT 100000

static _Atomic unsigned pk_forks;

static void pk_fork_happened(void) {
  atomic_fetch_add(&pk_forks, 1);
}

static void pk_watch_forks(void) {
  pthread_atfork(NULL, NULL, pk_fork_happened);
}

unsigned pk_fork_generation(void) {
  return atomic_load_explicit(&pk_forks, memory_order_relaxed);
}

void pk_producer_init(pk_producer_t *producer) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  pthread_once(&once, pk_watch_forks);
  pk_handle_init(&producer->handle);
  atomic_init(&producer->owners, 1);
  producer->generation = pk_fork_generation();
  atomic_init(&producer->accepting, false);
  atomic_init(&producer->stopping, false);
  atomic_init(&producer->opened, 0);
  atomic_init(&producer->accepted, 0);
  atomic_init(&producer->delivered, 0);
  atomic_init(&producer->failed, 0);
  pk_stripes_init(producer->stripes);
  pk_reports_init(&producer->reports, PK_REPORTS_LIMIT);
  pk_undelivered_list_init(&producer->undelivered);
  atomic_init(&producer->expiry_ms, PK_NO_DEADLINE);
  pk_txn_thread_init(&producer->transactions);
  pthread_mutex_init(&producer->room_lock, NULL);
  pk_cond_init(&producer->room);
}

static bool pk_lingers(rd_kafka_t *rk) {
  char value[32] = "";
  size_t size = sizeof value;

  rd_kafka_conf_get(rd_kafka_conf(rk), "linger.ms", value, &size);
  return strtod(value, NULL) > 0;
}

/* Tokens that librdkafka fetches itself (OIDC) are fetched on its background
 * thread: the event thread must not wait for a web server. */
static bool pk_fetches_tokens(const rd_kafka_conf_t *conf) {
  char method[32] = "";
  size_t size = sizeof method;

  if (rd_kafka_conf_get(conf, "sasl.oauthbearer.method", method, &size) != RD_KAFKA_CONF_OK) return false;
  return strcmp(method, "oidc") == 0;
}

static void pk_producer_prepare(rd_kafka_conf_t *conf, bool tokens) {
  int events = RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_LOG;

  /* Without a listener librdkafka's own token handling must stay enabled. */
  if (tokens) events |= RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH;
  rd_kafka_conf_set_events(conf, events);
  rd_kafka_conf_set(conf, "log.queue", "true", NULL, 0);
}

/* Without a thread there would be no reports. */
static void pk_producer_give_up(pk_producer_t *producer, char *error, size_t error_size) {
  snprintf(error, error_size, "the system has no thread left for the client's events");
  pk_flush_destroy(&producer->flush);
  rd_kafka_queue_destroy(producer->queue);
  rd_kafka_destroy(producer->handle.rk);
  producer->queue = NULL;
  producer->handle.rk = NULL;
}

rd_kafka_resp_err_t pk_producer_open(pk_producer_t *producer, rd_kafka_conf_t *conf, bool tokens, char *error,
                                     size_t error_size) {
  bool fetches = pk_fetches_tokens(conf);
  rd_kafka_t *rk;

  if (fetches) rd_kafka_conf_enable_sasl_queue(conf, 1);
  pk_producer_prepare(conf, tokens && !fetches);
  /* The first request for a token may come before a listener could be
   * registered. */
  if (tokens) atomic_store(&producer->reports.wants, PK_WANT_TOKENS);
  if (!(rk = pk_client_new(RD_KAFKA_PRODUCER, conf, error, error_size))) {
    rd_kafka_conf_destroy(conf);
    return RD_KAFKA_RESP_ERR__INVALID_ARG;
  }
  producer->handle.rk = rk;
  producer->queue = rd_kafka_queue_get_main(rk);
  producer->lingers = pk_lingers(rk);
  rd_kafka_set_log_queue(rk, NULL);
  if (fetches) rd_kafka_error_destroy(rd_kafka_sasl_background_callbacks_enable(rk));
  pk_flush_init(&producer->flush, rk);
  if (pk_thread_start(&producer->events, "pk:producer", pk_producer_events_main, producer)) {
    pk_producer_give_up(producer, error, error_size);
    return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
  }
  atomic_store(&producer->accepting, true);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

pk_stripe_t *pk_producer_stripe(pk_producer_t *producer) {
  unsigned number = atomic_fetch_add_explicit(&producer->opened, 1, memory_order_relaxed);

  return &producer->stripes[number / PK_STRIPE_RUN % PK_STRIPES];
}

/* The fast path, for most messages: neither headers nor a timestamp of their
 * own. */
static rd_kafka_resp_err_t pk_send_plain(pk_message_t *message) {
  if (rd_kafka_produce(message->topic->rkt, message->partition, RD_KAFKA_MSG_F_COPY, (void *)message->payload,
                       message->payload_size, message->key, message->key_size, message->delivery) == 0) {
    return RD_KAFKA_RESP_ERR_NO_ERROR;
  }
  return rd_kafka_last_error();
}

/* After a fatal error rd_kafka_produce() refuses with FATAL, but
 * rd_kafka_produceva() with the code of that error and a flag. */
static rd_kafka_resp_err_t pk_refusal(const rd_kafka_error_t *error) {
  return rd_kafka_error_is_fatal(error) ? RD_KAFKA_RESP_ERR__FATAL : rd_kafka_error_code(error);
}

static rd_kafka_resp_err_t pk_send_whole(pk_producer_t *producer, pk_message_t *message) {
  rd_kafka_vu_t vus[] = {
      {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = message->topic->rkt},
      {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = message->partition},
      {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
      {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {(void *)message->payload, message->payload_size}},
      {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)message->key, message->key_size}},
      {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = message->timestamp_ms},
      {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = message->delivery},
      {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = message->headers},
  };
  size_t count = sizeof vus / sizeof *vus - (message->headers ? 0 : 1);
  rd_kafka_error_t *error = rd_kafka_produceva(producer->handle.rk, vus, count);
  rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;

  if (error) {
    err = pk_refusal(error);
    rd_kafka_error_destroy(error);
  }
  return err;
}

rd_kafka_resp_err_t pk_producer_send(pk_producer_t *producer, pk_message_t *message) {
  rd_kafka_resp_err_t err;

  atomic_fetch_add_explicit(&producer->accepted, 1, memory_order_relaxed);
  if (message->delivery) pk_delivery_open(message->delivery);
  err = message->headers || message->timestamp_ms ? pk_send_whole(producer, message) : pk_send_plain(message);
  if (!err) return err;
  atomic_fetch_sub_explicit(&producer->accepted, 1, memory_order_relaxed);
  if (message->delivery) pk_delivery_retract(message->delivery, err);
  return err;
}

uint64_t pk_producer_pending(pk_producer_t *producer) {
  uint64_t reported = atomic_load(&producer->delivered) + atomic_load(&producer->failed);

  return atomic_load(&producer->accepted) - reported;
}

/* False if it isn't earlier than the time for which the event thread waits. */
static bool pk_hasten(pk_producer_t *producer, int64_t deadline_ms) {
  int64_t before_ms = atomic_load(&producer->expiry_ms);

  while (deadline_ms < before_ms) {
    if (atomic_compare_exchange_weak(&producer->expiry_ms, &before_ms, deadline_ms)) return true;
  }
  return false;
}

/* Also while it closes: deliveries that fibers wait for are resolved after the
 * event thread's end, and until then their timeouts apply. */
bool pk_producer_watch(pk_producer_t *producer, pk_delivery_t *delivery, pk_completions_t *watched, uint64_t number,
                       int64_t deadline_ms, bool urgent) {
  pk_urgency_t *urgency = urgent && producer->lingers ? &producer->flush.urgency : NULL;

  if (!pk_delivery_watch(delivery, watched, number, deadline_ms, urgency)) return false;
  if (!pk_hasten(producer, deadline_ms)) return true;
  pthread_mutex_lock(&producer->room_lock);
  if (!atomic_load(&producer->stopping)) rd_kafka_queue_yield(producer->queue);
  pthread_mutex_unlock(&producer->room_lock);
  return true;
}

/* A wait that arrives meanwhile is either seen by this check, or sets its own
 * deadline after the exchange. */
void pk_producer_expire(pk_producer_t *producer) {
  int64_t now_ms;

  if (atomic_load(&producer->expiry_ms) == PK_NO_DEADLINE) return;
  now_ms = pk_now_ms();
  if (atomic_load(&producer->expiry_ms) > now_ms) return;
  atomic_store(&producer->expiry_ms, PK_NO_DEADLINE);
  pk_hasten(producer, pk_deliveries_expire(producer->stripes, now_ms));
}

uint64_t pk_producer_ticket(pk_producer_t *producer) {
  uint64_t ticket;

  pthread_mutex_lock(&producer->room_lock);
  ticket = producer->room_ticket;
  pthread_mutex_unlock(&producer->room_lock);
  return ticket;
}

bool pk_producer_await_room(pk_producer_t *producer, uint64_t ticket, int64_t deadline_ms, const bool *interrupted) {
  bool room;

  pthread_mutex_lock(&producer->room_lock);
  producer->room_waiters++;
  while (producer->room_ticket == ticket && !*interrupted && atomic_load(&producer->accepting)) {
    if (!pk_cond_wait_until(&producer->room, &producer->room_lock, deadline_ms)) break;
  }
  producer->room_waiters--;
  room = producer->room_ticket != ticket;
  pthread_mutex_unlock(&producer->room_lock);
  return room;
}

void pk_producer_interrupt_room(pk_producer_t *producer, bool *interrupted) {
  pthread_mutex_lock(&producer->room_lock);
  *interrupted = true;
  pthread_cond_broadcast(&producer->room);
  pthread_mutex_unlock(&producer->room_lock);
}

void pk_producer_tell_room(pk_producer_t *producer) {
  pthread_mutex_lock(&producer->room_lock);
  producer->room_ticket++;
  if (producer->room_waiters > 0) pthread_cond_broadcast(&producer->room);
  pthread_mutex_unlock(&producer->room_lock);
}

void pk_producer_refuse(pk_producer_t *producer) {
  pthread_mutex_lock(&producer->room_lock);
  atomic_store(&producer->accepting, false);
  pthread_cond_broadcast(&producer->room);
  pthread_mutex_unlock(&producer->room_lock);
}

bool pk_producer_flush(pk_producer_t *producer, int64_t deadline_ms) {
  int slice_ms = pk_remaining_ms(deadline_ms);

  if (slice_ms > PK_FLUSH_SLICE_MS) slice_ms = PK_FLUSH_SLICE_MS;
  return rd_kafka_flush(producer->handle.rk, slice_ms) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

void pk_producer_flush_lone(pk_producer_t *producer) {
  if (!producer->lingers || pk_producer_pending(producer) != 1) return;
  if (pk_handle_enter(&producer->handle) != 0) return;
  rd_kafka_flush(producer->handle.rk, PK_LONE_FLUSH_MS);
  pk_handle_leave(&producer->handle);
}

rd_kafka_resp_err_t pk_producer_purge(pk_producer_t *producer) {
  return rd_kafka_purge(producer->handle.rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

/* The event thread is only woken with the lock held and before its end. */
static void pk_events_stop(pk_producer_t *producer) {
  pthread_mutex_lock(&producer->room_lock);
  atomic_store(&producer->stopping, true);
  pthread_mutex_unlock(&producer->room_lock);
  rd_kafka_queue_yield(producer->queue);
  pthread_join(producer->events, NULL);
}

bool pk_producer_close_idle(pk_producer_t *producer) {
  if (pk_handle_try_close(&producer->handle) != PK_CLOSE_MINE) return false;
  if (pk_producer_pending(producer) > 0) {
    pk_handle_reopen(&producer->handle);
    return false;
  }
  pk_producer_refuse(producer);
  return true;
}

int pk_producer_finish(pk_producer_t *producer) {
  int unknown;

  pk_producer_refuse(producer);
  if (rd_kafka_flush(producer->handle.rk, 0)) {
    pk_producer_purge(producer);
    rd_kafka_flush(producer->handle.rk, PK_LAST_FLUSH_MS);
  }
  pk_txn_thread_stop(&producer->transactions);
  pk_flush_stop(&producer->flush);
  pk_events_stop(producer);
  unknown = pk_deliveries_abandon(producer->stripes, &producer->flush.urgency);
  pk_undelivered_list_add_unknown(&producer->undelivered, pk_producer_pending(producer));
  pk_reports_close(&producer->reports);
  pk_topics_close(producer);
  rd_kafka_queue_destroy(producer->queue);
  rd_kafka_destroy(producer->handle.rk);
  producer->handle.rk = NULL;
  return unknown;
}

bool pk_producer_disown(pk_producer_t *producer) {
  return atomic_fetch_sub(&producer->owners, 1) == 1;
}

void pk_producer_free(pk_producer_t *producer) {
  pk_topics_free(producer);
  if (producer->queue) pk_flush_destroy(&producer->flush);
  pk_reports_destroy(&producer->reports);
  pk_undelivered_list_destroy(&producer->undelivered);
  pk_txn_thread_destroy(&producer->transactions);
  pk_stripes_destroy(producer->stripes);
  pthread_cond_destroy(&producer->room);
  pthread_mutex_destroy(&producer->room_lock);
  pk_handle_destroy(&producer->handle);
  free(producer);
}
