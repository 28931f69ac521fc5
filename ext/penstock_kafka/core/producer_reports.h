#ifndef PK_PRODUCER_REPORTS_H
#define PK_PRODUCER_REPORTS_H

#include <pthread.h>
#include <rdkafka.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery.h"

/* Reports of a producer's event thread to the application: delivery reports and
 * notices (client errors, statistics, token requests, log lines). The event
 * thread puts them in, one Ruby thread takes them out; without one nothing is
 * kept except the text of the last client error.
 *
 * Deliveries are never dropped: when `limit` of them wait, pk_reports_full
 * makes the binding delay producing. Of notices the newest are kept. */

enum {
  PK_WANT_DELIVERED = 1,
  PK_WANT_FAILED = 2,
  PK_WANT_ERRORS = 4,
  PK_WANT_STATISTICS = 8,
  PK_WANT_TOKENS = 16,
  PK_WANT_LOGS = 32
};

typedef struct pk_report {
  uint64_t label;
  const pk_topic_t *topic;
  int64_t offset;
  int64_t timestamp_ms;
  int32_t partition;
  rd_kafka_resp_err_t err;
  rd_kafka_msg_status_t persisted;
} pk_report_t;

typedef struct pk_notice {
  int want; /* the PK_WANT_ bit of its kind */
  int number;
  bool fatal;
  char *facility;
  char *text;
  struct pk_notice *next;
} pk_notice_t;

typedef struct pk_reports {
  pthread_mutex_t lock;
  pthread_cond_t ready;
  _Atomic int wants;
  _Atomic size_t count;
  size_t limit;
  pk_report_t *ring;
  size_t capacity;
  size_t head;
  pk_notice_t *first;
  pk_notice_t *last;
  int logs; /* notices of PK_WANT_LOGS among them */
  int errors; /* and of PK_WANT_ERRORS */
  unsigned long forgotten; /* errors that were dropped */
  bool closed;
  char last_error[256];
} pk_reports_t;

void pk_reports_init(pk_reports_t *reports, size_t limit);
void pk_reports_destroy(pk_reports_t *reports);

static inline bool pk_reports_wanted(pk_reports_t *reports, int want) {
  return (atomic_load_explicit(&reports->wants, memory_order_relaxed) & want) != 0;
}

static inline bool pk_reports_full(pk_reports_t *reports) {
  return atomic_load_explicit(&reports->count, memory_order_relaxed) >= reports->limit;
}

void pk_reports_push(pk_reports_t *reports, const pk_report_t *report);

/* Copies the texts. A kind without a listener is dropped; of statistics and
 * requests for tokens only the newest is kept, of errors and of log lines the
 * newest 1,000. */
void pk_reports_notice(pk_reports_t *reports, int want, int number, bool fatal, const char *facility, const char *text);

/* Waits until there is a report, the reports were closed, or the deadline has
 * passed; `interrupted` (guarded by the lock) ends it too. Call it without the
 * GVL. */
void pk_reports_wait(pk_reports_t *reports, int64_t deadline_ms, const bool *interrupted);
void pk_reports_interrupt(pk_reports_t *reports, bool *interrupted);

/* Takes at most max, oldest first. Wakes no thread: the caller wakes those that
 * wait for room. */
size_t pk_reports_take(pk_reports_t *reports, pk_report_t *into, size_t max);

/* Takes the oldest notice; the caller frees it. NULL if there is none. */
pk_notice_t *pk_reports_take_notice(pk_reports_t *reports);
void pk_notice_free(pk_notice_t *notice);

/* The number of errors dropped since the last call. */
unsigned long pk_reports_take_forgotten(pk_reports_t *reports);

/* Accepts no more reports; remaining ones can still be taken. */
void pk_reports_close(pk_reports_t *reports);
bool pk_reports_ended(pk_reports_t *reports);

#endif
