#include "producer_events.h"

#include <stdlib.h>
#include <string.h>

#include "../../penstock_core/core/stats_trim.h"
#include "crash.h"

#define PK_LOG_WARNING 4 /* of syslog */

static void pk_report(pk_producer_t *producer, const rd_kafka_message_t *message, const pk_delivery_t *delivery) {
  int want = message->err ? PK_WANT_FAILED : PK_WANT_DELIVERED;
  uint64_t label = delivery ? delivery->label : 0;
  pk_report_t report;
  rd_kafka_timestamp_type_t type;

  /* The report of a labelled message is always kept: the binding keeps the
   * label until then. */
  if (!label && !pk_reports_wanted(&producer->reports, want)) return;
  report.label = label;
  report.topic = delivery ? delivery->topic : rd_kafka_topic_opaque(message->rkt);
  report.offset = message->offset;
  report.timestamp_ms = rd_kafka_message_timestamp(message, &type);
  report.partition = message->partition;
  report.err = message->err;
  report.persisted = rd_kafka_message_status(message);
  pk_reports_push(&producer->reports, &report);
}

/* The fibers' threads are woken after the lock is released, once per run. */
static void pk_stripe_let_go(pk_stripe_t *stripe, pk_completions_t **bell) {
  if (stripe) pthread_mutex_unlock(&stripe->lock);
  pk_completions_ring(bell);
}

/* Before the outcome is published: a thread woken by it may read the counts.
 * Only the event thread writes them. */
static void pk_count_delivery(pk_producer_t *producer, bool failed) {
  _Atomic uint64_t *count = failed ? &producer->failed : &producer->delivered;

  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* Takes one lock per run of messages of the same stripe. */
static void pk_serve_deliveries(pk_producer_t *producer, rd_kafka_event_t *event) {
  const rd_kafka_message_t *message;
  pk_stripe_t *held = NULL;
  pk_completions_t *bell = NULL;

  while ((message = rd_kafka_event_message_next(event))) {
    pk_delivery_t *delivery = message->_private;

    pk_count_delivery(producer, message->err);
    if (message->err) pk_undelivered_list_add(&producer->undelivered, message);
    pk_report(producer, message, delivery);
    if (!delivery) continue;
    if (held != delivery->stripe) {
      pk_stripe_let_go(held, &bell);
      held = delivery->stripe;
      pthread_mutex_lock(&held->lock);
    }
    pk_delivery_report_locked(delivery, message, &producer->flush.urgency, &bell);
  }
  pk_stripe_let_go(held, &bell);
}

static void pk_serve_log(pk_reports_t *reports, rd_kafka_event_t *event) {
  const char *facility, *text;
  int level;

  if (rd_kafka_event_log(event, &facility, &text, &level) == 0) {
    pk_reports_notice(reports, PK_WANT_LOGS, level, false, facility, text);
    if (level <= PK_LOG_WARNING) pk_crash_note("log %s: %s", facility, text);
  }
}

/* A fatal error arrives with the code FATAL; the client keeps the real one. */
static void pk_serve_error(pk_producer_t *producer, rd_kafka_event_t *event) {
  bool fatal = rd_kafka_event_error_is_fatal(event) || rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__FATAL;
  rd_kafka_resp_err_t err = rd_kafka_event_error(event);
  char text[512];

  if (fatal) err = rd_kafka_fatal_error(producer->handle.rk, text, sizeof text);
  pk_reports_notice(&producer->reports, PK_WANT_ERRORS, err, fatal, NULL,
                    fatal ? text : rd_kafka_event_error_string(event));
  pk_crash_note("%s: error %s: %s", rd_kafka_name(producer->handle.rk), rd_kafka_err2name(err),
                fatal ? text : rd_kafka_event_error_string(event));
}

/* Without topics and partitions, whose numbers grow with the cluster and which
 * only report batches. Statistics that the trim can't parse are kept unchanged. */
static void pk_serve_statistics(pk_reports_t *reports, rd_kafka_event_t *event) {
  const char *json = rd_kafka_event_stats(event);
  size_t size = strlen(json);
  char *trimmed = pk_reports_wanted(reports, PK_WANT_STATISTICS) ? malloc(size + 1) : NULL;
  long written;

  if (!trimmed) return;
  written = pk_stats_trim(json, size, NULL, NULL, trimmed);
  if (written >= 0) trimmed[written] = '\0';
  pk_reports_notice(reports, PK_WANT_STATISTICS, 0, false, NULL, written >= 0 ? trimmed : json);
  free(trimmed);
}

static void pk_serve(pk_producer_t *producer, rd_kafka_event_t *event) {
  pk_reports_t *reports = &producer->reports;
  bool delivered = rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR;

  switch (rd_kafka_event_type(event)) {
  case RD_KAFKA_EVENT_DR: pk_serve_deliveries(producer, event); break;
  case RD_KAFKA_EVENT_ERROR: pk_serve_error(producer, event); break;
  case RD_KAFKA_EVENT_STATS: pk_serve_statistics(reports, event); break;
  case RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH:
    pk_reports_notice(reports, PK_WANT_TOKENS, 0, false, NULL, rd_kafka_event_config_string(event));
    break;
  case RD_KAFKA_EVENT_LOG: pk_serve_log(reports, event); break;
  default: break;
  }
  rd_kafka_event_destroy(event);
  if (delivered) pk_producer_tell_room(producer);
}

static rd_kafka_event_t *pk_next_event(pk_producer_t *producer) {
  int64_t expiry_ms;

  pk_producer_expire(producer);
  expiry_ms = atomic_load(&producer->expiry_ms);
  return rd_kafka_queue_poll(producer->queue, expiry_ms == PK_NO_DEADLINE ? -1 : pk_remaining_ms(expiry_ms));
}

void *pk_producer_events_main(void *arg) {
  pk_producer_t *producer = arg;
  rd_kafka_event_t *event;

  while (!atomic_load(&producer->stopping)) {
    if ((event = pk_next_event(producer))) pk_serve(producer, event);
  }
  while ((event = rd_kafka_queue_poll(producer->queue, 0))) pk_serve(producer, event);
  return NULL;
}
