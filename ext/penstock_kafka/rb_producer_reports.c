/* Penstock::Native::Producer, the part that passes delivery reports and notices
 * to one Ruby thread, the reporter. */
#include <stdlib.h>
#include <string.h>

#include "rb_nogvl.h"
#include "rb_producing.h"
#include "rb_token.h"

#define REPORTS_AT_ONCE 256

static pk_producer_t *core_of(pk_rproducer_t *producer) {
  if (!producer->core) pk_raise_closed("producer");
  return producer->core;
}

/* want(mask): the kinds of reports that the event thread keeps from now on; the
 * WANT_ constants. */
static VALUE producer_want(VALUE self, VALUE mask) {
  atomic_store(&core_of(pk_rproducer_get(self))->reports.wants, NUM2INT(mask));
  return mask;
}

/* last_error → text of the last client error, "" before the first. */
static VALUE producer_last_error(VALUE self) {
  pk_reports_t *reports = &core_of(pk_rproducer_get(self))->reports;
  char text[sizeof reports->last_error] = "";

  if (core_of(pk_rproducer_get(self))->generation != pk_fork_generation()) return pk_utf8(text);
  pthread_mutex_lock(&reports->lock);
  memcpy(text, reports->last_error, sizeof text);
  pthread_mutex_unlock(&reports->lock);
  return pk_utf8(text);
}

static VALUE topic_name(pk_rproducer_t *producer, const pk_topic_t *topic) {
  return topic ? rb_ary_entry(producer->names, (long)topic->index) : Qnil;
}

static VALUE report_array(pk_rproducer_t *producer, const pk_report_t *report) {
  return rb_ary_new_from_args(7, pk_label_take(producer, report->label), INT2NUM(report->err),
                              topic_name(producer, report->topic), INT2NUM(report->partition), LL2NUM(report->offset),
                              LL2NUM(report->timestamp_ms), pk_persisted_symbol(report->persisted));
}

typedef struct {
  pk_reports_t *reports;
  int64_t deadline_ms;
  bool interrupted;
} wait_args;

static void *wait_safe(void *pointer) {
  wait_args *args = pointer;

  pk_reports_wait(args->reports, args->deadline_ms, &args->interrupted);
  return pointer;
}

static void wait_unblock(void *pointer) {
  wait_args *args = pointer;

  pk_reports_interrupt(args->reports, &args->interrupted);
}

/* wait_for_reports(timeout_ms) → false once closed and empty: no more will
 * come. nil waits without a limit. */
static VALUE producer_wait_for_reports(VALUE self, VALUE timeout_ms) {
  pk_producer_t *core = core_of(pk_rproducer_get(self));
  wait_args args = {&core->reports, pk_deadline(NIL_P(timeout_ms) ? -1 : NUM2LL(timeout_ms)), false};

  if (core->generation != pk_fork_generation()) return Qfalse;
  rb_thread_call_without_gvl2(wait_safe, &args, wait_unblock, &args);
  rb_thread_check_ints();
  return pk_reports_ended(&core->reports) ? Qfalse : Qtrue;
}

/* take_reports(max) → [[label, number, topic, partition, offset, timestamp_ms,
 * persisted], …], at most 256, oldest first. The caller is the reporter from
 * now on: it may produce while reports wait. */
static VALUE producer_take_reports(VALUE self, VALUE max) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  pk_producer_t *core = core_of(producer);
  size_t limit = NUM2SIZET(max), count;
  pk_report_t reports[REPORTS_AT_ONCE];
  bool full;
  VALUE list;

  if (core->generation != pk_fork_generation()) return rb_ary_new();
  RB_OBJ_WRITE(self, &producer->reporter, rb_thread_current());
  list = rb_ary_new_capa((long)(limit < REPORTS_AT_ONCE ? limit : REPORTS_AT_ONCE));
  full = pk_reports_full(&core->reports);
  count = pk_reports_take(&core->reports, reports, limit < REPORTS_AT_ONCE ? limit : REPORTS_AT_ONCE);
  for (size_t i = 0; i < count; i++) rb_ary_push(list, report_array(producer, &reports[i]));
  if (full && !pk_reports_full(&core->reports)) pk_producer_tell_room(core);
  return list;
}

static VALUE notice_array(VALUE pointer) {
  const pk_notice_t *notice = (const pk_notice_t *)pointer;
  VALUE text = pk_utf8(notice->text);

  switch (notice->want) {
  case PK_WANT_ERRORS:
    return rb_ary_new_from_args(5, ID2SYM(rb_intern("error")), INT2NUM(notice->number),
                                pk_utf8(rd_kafka_err2name(notice->number)), text, notice->fatal ? Qtrue : Qfalse);
  case PK_WANT_STATISTICS: return rb_assoc_new(ID2SYM(rb_intern("stats")), text);
  case PK_WANT_TOKENS: return rb_assoc_new(ID2SYM(rb_intern("token_refresh")), text);
  default:
    return rb_ary_new_from_args(4, ID2SYM(rb_intern("log")), INT2NUM(notice->number), pk_utf8(notice->facility), text);
  }
}

/* poll_event → nil, or the oldest of
 *   [:error, number, name, message, fatal]  [:stats, json]
 *   [:token_refresh, oauth_config]          [:log, level, facility, message]
 * and before them [:forgotten, count] of errors that weren't taken in time. */
static VALUE producer_poll_event(VALUE self) {
  pk_producer_t *core = core_of(pk_rproducer_get(self));
  pk_notice_t *notice;
  unsigned long forgotten;
  VALUE event;
  int state = 0;

  if (core->generation != pk_fork_generation()) return Qnil;
  if ((forgotten = pk_reports_take_forgotten(&core->reports))) {
    return rb_assoc_new(ID2SYM(rb_intern("forgotten")), ULONG2NUM(forgotten));
  }
  if (!(notice = pk_reports_take_notice(&core->reports))) return Qnil;
  event = rb_protect(notice_array, (VALUE)notice, &state);
  pk_notice_free(notice);
  if (state) rb_jump_tag(state);
  return event;
}

/* -- OAUTHBEARER tokens ------------------------------------------------------ */

/* While a close waits for messages, they may need a token. The client isn't
 * destroyed before the close has the GVL again, which the caller holds. */
static bool token_for_close(const pk_rproducer_t *producer) {
  return producer->flushing && !pk_inherited(&producer->core->handle);
}

/* set_token(token, lifetime_ms, principal, extensions): lifetime in ms since 1970. */
static VALUE producer_set_token(VALUE self, VALUE token, VALUE lifetime_ms, VALUE principal, VALUE extensions) {
  pk_token_t it = pk_token_read(token, lifetime_ms, principal, extensions);
  pk_rproducer_t *producer = pk_rproducer_get(self);
  pk_producer_t *core = core_of(producer);
  rd_kafka_resp_err_t err =
      token_for_close(producer) ? pk_token_give(core->handle.rk, &it) : pk_token_set(&core->handle, "producer", &it);

  if (err) pk_raise(err, it.error);
  return Qnil;
}

static VALUE producer_set_token_failure(VALUE self, VALUE reason) {
  pk_rproducer_t *producer = pk_rproducer_get(self);
  pk_producer_t *core = core_of(producer);
  const char *text = StringValueCStr(reason);
  bool counted = !token_for_close(producer);
  rd_kafka_resp_err_t err;

  if (counted) pk_enter(&core->handle, "producer");
  err = rd_kafka_oauthbearer_set_token_failure(core->handle.rk, text);
  if (counted) pk_handle_leave(&core->handle);
  if (err) pk_raise(err, NULL);
  return Qnil;
}

void Init_pk_producer_reports(VALUE cProducer) {
  rb_define_const(cProducer, "WANT_DELIVERED", INT2FIX(PK_WANT_DELIVERED));
  rb_define_const(cProducer, "WANT_FAILED", INT2FIX(PK_WANT_FAILED));
  rb_define_const(cProducer, "WANT_ERRORS", INT2FIX(PK_WANT_ERRORS));
  rb_define_const(cProducer, "WANT_STATISTICS", INT2FIX(PK_WANT_STATISTICS));
  rb_define_const(cProducer, "WANT_TOKENS", INT2FIX(PK_WANT_TOKENS));
  rb_define_const(cProducer, "WANT_LOGS", INT2FIX(PK_WANT_LOGS));
  rb_define_method(cProducer, "want", producer_want, 1);
  rb_define_method(cProducer, "last_error", producer_last_error, 0);
  rb_define_method(cProducer, "wait_for_reports", producer_wait_for_reports, 1);
  rb_define_method(cProducer, "take_reports", producer_take_reports, 1);
  rb_define_method(cProducer, "poll_event", producer_poll_event, 0);
  rb_define_method(cProducer, "set_token", producer_set_token, 4);
  rb_define_method(cProducer, "set_token_failure", producer_set_token_failure, 1);
}
