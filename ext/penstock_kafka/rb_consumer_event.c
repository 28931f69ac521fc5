/* Converts events of a consumer to Arrays, the first element a Symbol. An
 * exception here (no memory) leaks nothing: the consumer owns the event until
 * its next poll. */
#include <string.h>

#include "rb_binding.h"
#include "core/committed.h"
#include "core/consumer_stats.h"
#include "core/crash.h"
#include "rb_nogvl.h"

#define PK_LOG_WARNING 4 /* of syslog */

static VALUE symbol(const char *name) {
  return ID2SYM(rb_intern(name));
}

static VALUE token_of(rd_kafka_event_t *event) {
  return LL2NUM((long long)(intptr_t)rd_kafka_event_opaque(event));
}

static VALUE topic_of(const char *topic) {
  return topic ? rb_enc_interned_str_cstr(topic, rb_utf8_encoding()) : Qnil;
}

/* Whether the assignment is lost is read now: the flag is cleared once it is
 * unassigned. */
static VALUE rebalance_value(pk_consumer_t *consumer, rd_kafka_event_t *event) {
  VALUE partitions = pk_list_values(rd_kafka_event_topic_partition_list(event));

  pk_crash_note("%s: rebalance, %s %ld partitions", rd_kafka_name(consumer->handle.rk),
                rd_kafka_err2name(rd_kafka_event_error(event)), RARRAY_LEN(partitions));
  if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    return rb_ary_new_from_args(2, symbol("assign"), partitions);
  }
  return rb_ary_new_from_args(3, symbol("revoke"), partitions,
                              rd_kafka_assignment_lost(consumer->handle.rk) ? Qtrue : Qfalse);
}

static VALUE error_value(rd_kafka_event_t *event) {
  rd_kafka_resp_err_t err = rd_kafka_event_error(event);

  pk_crash_note("error %s: %s", rd_kafka_err2name(err), rd_kafka_event_error_string(event));
  return rb_ary_new_from_args(5, symbol("error"), INT2NUM(err), pk_utf8(rd_kafka_err2name(err)),
                              pk_utf8(rd_kafka_event_error_string(event)),
                              rd_kafka_event_error_is_fatal(event) ? Qtrue : Qfalse);
}

static VALUE commit_value(rd_kafka_event_t *event) {
  const rd_kafka_topic_partition_list_t *list = rd_kafka_event_topic_partition_list(event);
  VALUE partitions = rb_ary_new();

  for (int i = 0; list && i < list->cnt; i++) {
    const rd_kafka_topic_partition_t *it = &list->elems[i];

    rb_ary_push(partitions, rb_ary_new_from_args(4, topic_of(it->topic), INT2NUM(it->partition), LL2NUM(it->offset),
                                                 INT2NUM(it->err)));
  }
  return rb_ary_new_from_args(4, symbol("commit"), token_of(event), INT2NUM(rd_kafka_event_error(event)), partitions);
}

/* The metadata isn't NUL-terminated. */
static VALUE committed_partition(const rd_kafka_topic_partition_t *it) {
  VALUE metadata = it->metadata ? rb_str_new(it->metadata, (long)it->metadata_size) : Qnil;

  return rb_ary_new_from_args(6, topic_of(it->topic), INT2NUM(it->partition), LL2NUM(it->offset), metadata,
                              INT2NUM(rd_kafka_topic_partition_get_leader_epoch(it)), INT2NUM(it->err));
}

static VALUE committed_rows(VALUE ptr) {
  const rd_kafka_topic_partition_list_t *list = ((pk_committed_t *)ptr)->list;
  VALUE rows = rb_ary_new_capa(list->cnt);

  for (int i = 0; i < list->cnt; i++) rb_ary_push(rows, committed_partition(&list->elems[i]));
  return rows;
}

static VALUE committed_value(VALUE ptr) {
  const pk_committed_t *answer = (pk_committed_t *)ptr;
  rd_kafka_resp_err_t err = answer->query.err;

  return rb_ary_new_from_args(5, symbol("committed"), LL2NUM((long long)answer->token), INT2NUM(err),
                              err ? pk_utf8(rd_kafka_err2str(err)) : Qnil, err ? rb_ary_new() : committed_rows(ptr));
}

static VALUE committed_end(VALUE ptr) {
  pk_query_unref(&((pk_committed_t *)ptr)->query);
  return Qnil;
}

VALUE pk_next_committed_value(pk_consumer_t *consumer) {
  pk_committed_t *answer = pk_consumer_next_committed(consumer);

  return answer ? rb_ensure(committed_value, (VALUE)answer, committed_end, (VALUE)answer) : Qnil;
}

static VALUE log_value(rd_kafka_event_t *event) {
  const char *facility = NULL, *text = NULL;
  int level = 0;

  rd_kafka_event_log(event, &facility, &text, &level);
  if (level <= PK_LOG_WARNING) pk_crash_note("log %s: %s", facility, text);
  return rb_ary_new_from_args(4, symbol("log"), INT2NUM(level), pk_utf8(facility), pk_utf8(text));
}

/* A record on the consumer queue arrived before its partition had a queue of
 * its own: it is reported, so that the loop can count it and seek the lane
 * back. */
static VALUE stray_value(rd_kafka_event_t *event) {
  const rd_kafka_message_t *message = rd_kafka_event_message_next(event);

  if (!message) return rb_ary_new_from_args(3, symbol("stray"), Qnil, Qnil);
  return rb_ary_new_from_args(3, symbol("stray"), topic_of(message->rkt ? rd_kafka_topic_name(message->rkt) : NULL),
                              INT2NUM(message->partition));
}

typedef struct {
  pk_consumer_t *consumer;
  const char *json;
  size_t size;
  char *out;
  long written;
} stats_args_t;

static void *stats_safe(void *ptr) {
  stats_args_t *args = ptr;

  args->written = pk_consumer_trim_stats(args->consumer, args->json, args->size, args->out);
  return args;
}

/* The buffer is a Ruby String: it is freed in any case. Statistics that the
 * trim can't parse are returned unchanged. */
static VALUE stats_value(pk_consumer_t *consumer, rd_kafka_event_t *event) {
  const char *json = rd_kafka_event_stats(event);
  stats_args_t args = {.consumer = consumer, .json = json, .size = strlen(json)};
  VALUE text = rb_utf8_str_new(NULL, (long)args.size);

  args.out = RSTRING_PTR(text);
  pk_without_gvl_noraise(stats_safe, &args);
  if (args.written < 0) return pk_utf8(json);
  return rb_str_resize(text, args.written);
}

VALUE pk_event_value(pk_consumer_t *consumer, rd_kafka_event_t *event) {
  switch (rd_kafka_event_type(event)) {
  case RD_KAFKA_EVENT_REBALANCE:
    return rebalance_value(consumer, event);
  case RD_KAFKA_EVENT_ERROR:
    return error_value(event);
  case RD_KAFKA_EVENT_OFFSET_COMMIT:
    return commit_value(event);
  case RD_KAFKA_EVENT_STATS:
    return rb_ary_new_from_args(2, symbol("stats"), stats_value(consumer, event));
  case RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH:
    return rb_ary_new_from_args(2, symbol("token_refresh"), pk_utf8(rd_kafka_event_config_string(event)));
  case RD_KAFKA_EVENT_LOG:
    return log_value(event);
  case RD_KAFKA_EVENT_FETCH:
    return stray_value(event);
  default:
    return rb_ary_new_from_args(2, symbol("unknown"), pk_utf8(rd_kafka_event_name(event)));
  }
}
