#include "producer_reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PK_LOGS_KEPT 1000
#define PK_ERRORS_KEPT 1000
#define PK_RING_START 256

void pk_reports_init(pk_reports_t *reports, size_t limit) {
  memset(reports, 0, sizeof *reports);
  pthread_mutex_init(&reports->lock, NULL);
  pk_cond_init(&reports->ready);
  atomic_init(&reports->wants, 0);
  atomic_init(&reports->count, 0);
  reports->limit = limit;
}

void pk_reports_destroy(pk_reports_t *reports) {
  pk_notice_t *notice;

  while ((notice = pk_reports_take_notice(reports))) pk_notice_free(notice);
  free(reports->ring);
  pthread_cond_destroy(&reports->ready);
  pthread_mutex_destroy(&reports->lock);
}

/* Must be called with the lock held. Losing reports because memory is short
 * would be worse than ending: the process can't survive anyway. */
static void pk_ring_grow_locked(pk_reports_t *reports, size_t count) {
  size_t capacity = reports->capacity ? reports->capacity * 2 : PK_RING_START;
  pk_report_t *ring = malloc(capacity * sizeof *ring);

  if (!ring) abort();
  for (size_t i = 0; i < count; i++) ring[i] = reports->ring[(reports->head + i) % reports->capacity];
  free(reports->ring);
  reports->ring = ring;
  reports->capacity = capacity;
  reports->head = 0;
}

void pk_reports_push(pk_reports_t *reports, const pk_report_t *report) {
  size_t count;

  pthread_mutex_lock(&reports->lock);
  count = atomic_load_explicit(&reports->count, memory_order_relaxed);
  if (count == reports->capacity) pk_ring_grow_locked(reports, count);
  reports->ring[(reports->head + count) % reports->capacity] = *report;
  atomic_store_explicit(&reports->count, count + 1, memory_order_relaxed);
  if (count == 0) pthread_cond_signal(&reports->ready);
  pthread_mutex_unlock(&reports->lock);
}

static pk_notice_t *pk_notice_new(int want, int number, bool fatal, const char *facility, const char *text) {
  pk_notice_t *notice = calloc(1, sizeof *notice);

  if (!notice) abort();
  notice->want = want;
  notice->number = number;
  notice->fatal = fatal;
  notice->facility = facility ? strdup(facility) : NULL;
  notice->text = strdup(text ? text : "");
  return notice;
}

void pk_notice_free(pk_notice_t *notice) {
  free(notice->facility);
  free(notice->text);
  free(notice);
}

/* Must be called with the lock held: subtracts one notice of its kind. */
static void pk_uncount_locked(pk_reports_t *reports, const pk_notice_t *notice) {
  if (notice->want == PK_WANT_LOGS) reports->logs--;
  if (notice->want == PK_WANT_ERRORS) reports->errors--;
}

/* Must be called with the lock held: removes the oldest notice of a kind. */
static void pk_forget_oldest_locked(pk_reports_t *reports, int want) {
  pk_notice_t *before = NULL;

  for (pk_notice_t *notice = reports->first; notice; before = notice, notice = notice->next) {
    if (notice->want != want) continue;
    if (before) before->next = notice->next;
    else reports->first = notice->next;
    if (reports->last == notice) reports->last = before;
    pk_uncount_locked(reports, notice);
    pk_notice_free(notice);
    return;
  }
}

/* Must be called with the lock held: limits the size, for the case that nothing
 * is taken out because a listener has ended the reporter. */
static void pk_make_room_locked(pk_reports_t *reports, int want) {
  switch (want) {
  case PK_WANT_STATISTICS:
  case PK_WANT_TOKENS: pk_forget_oldest_locked(reports, want); break;
  case PK_WANT_LOGS:
    if (++reports->logs > PK_LOGS_KEPT) pk_forget_oldest_locked(reports, want);
    break;
  default:
    if (++reports->errors <= PK_ERRORS_KEPT) return;
    pk_forget_oldest_locked(reports, want);
    reports->forgotten++;
  }
}

/* Must be called with the lock held. */
static void pk_append_locked(pk_reports_t *reports, pk_notice_t *notice) {
  pk_make_room_locked(reports, notice->want);
  if (reports->last) reports->last->next = notice;
  else reports->first = notice;
  reports->last = notice;
  pthread_cond_signal(&reports->ready);
}

void pk_reports_notice(pk_reports_t *reports, int want, int number, bool fatal, const char *facility, const char *text) {
  pk_notice_t *notice = pk_reports_wanted(reports, want) ? pk_notice_new(want, number, fatal, facility, text) : NULL;

  pthread_mutex_lock(&reports->lock);
  if (want == PK_WANT_ERRORS) snprintf(reports->last_error, sizeof reports->last_error, "%s", text ? text : "");
  if (notice) pk_append_locked(reports, notice);
  pthread_mutex_unlock(&reports->lock);
}

static bool pk_reports_empty_locked(pk_reports_t *reports) {
  return atomic_load_explicit(&reports->count, memory_order_relaxed) == 0 && !reports->first;
}

void pk_reports_wait(pk_reports_t *reports, int64_t deadline_ms, const bool *interrupted) {
  pthread_mutex_lock(&reports->lock);
  while (pk_reports_empty_locked(reports) && !reports->closed && !*interrupted) {
    if (!pk_cond_wait_until(&reports->ready, &reports->lock, deadline_ms)) break;
  }
  pthread_mutex_unlock(&reports->lock);
}

void pk_reports_interrupt(pk_reports_t *reports, bool *interrupted) {
  pthread_mutex_lock(&reports->lock);
  *interrupted = true;
  pthread_cond_broadcast(&reports->ready);
  pthread_mutex_unlock(&reports->lock);
}

size_t pk_reports_take(pk_reports_t *reports, pk_report_t *into, size_t max) {
  size_t count, taken;

  pthread_mutex_lock(&reports->lock);
  count = atomic_load_explicit(&reports->count, memory_order_relaxed);
  taken = count < max ? count : max;
  for (size_t i = 0; i < taken; i++) into[i] = reports->ring[(reports->head + i) % reports->capacity];
  if (taken) reports->head = (reports->head + taken) % reports->capacity;
  atomic_store_explicit(&reports->count, count - taken, memory_order_relaxed);
  pthread_mutex_unlock(&reports->lock);
  return taken;
}

pk_notice_t *pk_reports_take_notice(pk_reports_t *reports) {
  pk_notice_t *notice;

  pthread_mutex_lock(&reports->lock);
  if ((notice = reports->first)) {
    reports->first = notice->next;
    if (!reports->first) reports->last = NULL;
    pk_uncount_locked(reports, notice);
  }
  pthread_mutex_unlock(&reports->lock);
  return notice;
}

unsigned long pk_reports_take_forgotten(pk_reports_t *reports) {
  unsigned long forgotten;

  pthread_mutex_lock(&reports->lock);
  forgotten = reports->forgotten;
  reports->forgotten = 0;
  pthread_mutex_unlock(&reports->lock);
  return forgotten;
}

void pk_reports_close(pk_reports_t *reports) {
  pthread_mutex_lock(&reports->lock);
  reports->closed = true;
  pthread_cond_broadcast(&reports->ready);
  pthread_mutex_unlock(&reports->lock);
}

bool pk_reports_ended(pk_reports_t *reports) {
  bool ended;

  pthread_mutex_lock(&reports->lock);
  ended = reports->closed && pk_reports_empty_locked(reports);
  pthread_mutex_unlock(&reports->lock);
  return ended;
}
