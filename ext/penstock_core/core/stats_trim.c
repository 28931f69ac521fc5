#include "stats_trim.h"

#include <string.h>

#define MAX_DEPTH 16 /* librdkafka's own is 5 */
#define MAX_TOPIC 249

/* What to do with a member of an object: copy it, copy it if it is a plain
 * value, or descend with the rules for that kind of object. */
typedef enum { DROP, COPY, COPY_PLAIN, BROKERS, BROKER, TOPICS, TOPIC, PARTITIONS, PARTITION } action_t;

typedef struct {
  const char *name; /* NULL ends a table; its action applies to all other names */
  action_t action;
  size_t size; /* of the name */
} rule_t;

#define RULE(name, action) {name, action, sizeof(name) - 1}

static const rule_t ROOT_RULES[] = {
    RULE("brokers", BROKERS), RULE("topics", TOPICS), RULE("cgrp", COPY),     RULE("eos", COPY),
    RULE("fatal", COPY),      {NULL, COPY_PLAIN, 0},
};

static const rule_t BROKERS_RULES[] = {{NULL, BROKER, 0}};

static const rule_t BROKER_RULES[] = {
    RULE("name", COPY),         RULE("nodeid", COPY),
    RULE("nodename", COPY),     RULE("source", COPY),
    RULE("state", COPY),        RULE("stateage", COPY),
    RULE("outbuf_cnt", COPY),   RULE("outbuf_msg_cnt", COPY),
    RULE("waitresp_cnt", COPY), RULE("waitresp_msg_cnt", COPY),
    RULE("tx", COPY),           RULE("txbytes", COPY),
    RULE("txerrs", COPY),       RULE("txretries", COPY),
    RULE("txidle", COPY),       RULE("req_timeouts", COPY),
    RULE("rx", COPY),           RULE("rxbytes", COPY),
    RULE("rxerrs", COPY),       RULE("rxidle", COPY),
    RULE("connects", COPY),     RULE("disconnects", COPY),
    RULE("int_latency", COPY),  RULE("outbuf_latency", COPY),
    RULE("rtt", COPY),          RULE("throttle", COPY),
    {NULL, DROP, 0},
};

static const rule_t TOPICS_RULES[] = {{NULL, TOPIC, 0}};

/* Only consumers have topics and partitions here: figures of messages that are sent would always be 0. */
static const rule_t TOPIC_RULES[] = {
    RULE("topic", COPY),
    RULE("age", COPY),
    RULE("metadata_age", COPY),
    RULE("partitions", PARTITIONS),
    {NULL, DROP, 0},
};

static const rule_t PARTITIONS_RULES[] = {{NULL, PARTITION, 0}};

static const rule_t PARTITION_RULES[] = {
    RULE("partition", COPY),
    RULE("broker", COPY),
    RULE("leader", COPY),
    RULE("leader_epoch", COPY),
    RULE("fetch_state", COPY),
    RULE("fetchq_cnt", COPY),
    RULE("fetchq_size", COPY),
    RULE("next_offset", COPY),
    RULE("app_offset", COPY),
    RULE("stored_offset", COPY),
    RULE("committed_offset", COPY),
    RULE("eof_offset", COPY),
    RULE("lo_offset", COPY),
    RULE("hi_offset", COPY),
    RULE("ls_offset", COPY),
    RULE("consumer_lag", COPY),
    RULE("consumer_lag_stored", COPY),
    RULE("rxmsgs", COPY),
    RULE("rxbytes", COPY),
    RULE("msgs", COPY),
    {NULL, DROP, 0},
};

static const rule_t *const RULES[] = {
    [DROP] = NULL,         [BROKERS] = BROKERS_RULES,       [BROKER] = BROKER_RULES,       [TOPICS] = TOPICS_RULES,
    [TOPIC] = TOPIC_RULES, [PARTITIONS] = PARTITIONS_RULES, [PARTITION] = PARTITION_RULES,
};

typedef struct {
  const char *at, *end;
  char *out;
  pk_stats_wanted_fn wanted;
  void *context;
  const char *topic; /* of the current object */
  size_t topic_size;
  bool any_wanted; /* a partition of this topic was wanted */
} trim_t;

/* -- reading ---------------------------------------------------------------- */

static void skip_space(trim_t *trim) {
  while (trim->at < trim->end && (*trim->at == ' ' || *trim->at == '\n' || *trim->at == '\t' || *trim->at == '\r'))
    trim->at++;
}

/* The next character that isn't white space, which it skips; 0 at the end. */
static bool take(trim_t *trim, char wanted) {
  skip_space(trim);
  if (trim->at >= trim->end || *trim->at != wanted) return false;
  trim->at++;
  return true;
}

/* A string with its quotes; inner gets the text between them. */
static bool skip_string(trim_t *trim, const char **inner, size_t *inner_size) {
  const char *start;

  if (!take(trim, '"')) return false;
  for (start = trim->at; trim->at < trim->end; trim->at++) {
    if ((unsigned char)*trim->at < 0x20) return false;
    if (*trim->at == '\\') {
      if (++trim->at >= trim->end) return false;
      continue;
    }
    if (*trim->at != '"') continue;
    if (inner) *inner = start;
    if (inner) *inner_size = (size_t)(trim->at - start);
    trim->at++;
    return true;
  }
  return false;
}

static bool skip_digits(trim_t *trim) {
  const char *start = trim->at;

  while (trim->at < trim->end && *trim->at >= '0' && *trim->at <= '9') trim->at++;
  return trim->at > start;
}

static bool skip_char(trim_t *trim, const char *any_of) {
  if (trim->at >= trim->end || !*trim->at || !strchr(any_of, *trim->at)) return false;
  trim->at++;
  return true;
}

static bool skip_number(trim_t *trim) {
  skip_char(trim, "-");
  if (!skip_char(trim, "0") && !skip_digits(trim)) return false; /* no leading zeros: no 07 */
  if (skip_char(trim, ".") && !skip_digits(trim)) return false;
  if (!skip_char(trim, "eE")) return true;
  skip_char(trim, "+-");
  return skip_digits(trim);
}

static bool skip_plain(trim_t *trim) {
  static const char *const words[] = {"true", "false", "null"};

  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t size = strlen(words[i]);

    if ((size_t)(trim->end - trim->at) < size || memcmp(trim->at, words[i], size)) continue;
    trim->at += size;
    return true;
  }
  return skip_number(trim);
}

static bool skip_value(trim_t *trim, int depth);

static bool skip_members(trim_t *trim, char closing, int depth) {
  if (take(trim, closing)) return true;
  do {
    if (closing == '}' && !(skip_string(trim, NULL, NULL) && take(trim, ':'))) return false;
    if (!skip_value(trim, depth + 1)) return false;
  } while (take(trim, ','));
  return take(trim, closing);
}

static bool skip_value(trim_t *trim, int depth) {
  skip_space(trim);
  if (depth > MAX_DEPTH || trim->at >= trim->end) return false;
  if (*trim->at == '"') return skip_string(trim, NULL, NULL);
  if (take(trim, '{')) return skip_members(trim, '}', depth);
  if (take(trim, '[')) return skip_members(trim, ']', depth);
  return skip_plain(trim);
}

/* -- choosing and writing --------------------------------------------------- */

static void put(trim_t *trim, const char *bytes, size_t size) {
  memcpy(trim->out, bytes, size);
  trim->out += size;
}

/* Only writes parts of the input, once each, so the output can't be longer. */
static void put_member(trim_t *trim, bool *first, const char *name, size_t name_size) {
  if (!*first) put(trim, ",", 1);
  *first = false;
  put(trim, "\"", 1);
  put(trim, name, name_size);
  put(trim, "\":", 2);
}

static action_t action_of(const rule_t *rules, const char *name, size_t size) {
  for (; rules->name; rules++) {
    if (rules->size == size && memcmp(rules->name, name, size) == 0) break;
  }
  return rules->action;
}

/* The partition that names a member of "partitions"; -1 if it isn't all digits. */
static int32_t partition_of(const char *name, size_t size) {
  int32_t number = 0;

  if (size < 1 || size > 9) return -1;
  for (size_t i = 0; i < size; i++) {
    if (name[i] < '0' || name[i] > '9') return -1;
    number = number * 10 + (name[i] - '0');
  }
  return number;
}

static bool is_wanted(trim_t *trim, const char *name, size_t size) {
  int32_t partition = partition_of(name, size);

  if (partition < 0 || !trim->wanted || !trim->wanted(trim->context, trim->topic, trim->topic_size, partition))
    return false;
  return trim->any_wanted = true;
}

static bool trim_object(trim_t *trim, const rule_t *rules, int depth);

/* Removes a topic again if it has no wanted partition. */
static bool trim_topic(trim_t *trim, const char *name, size_t size, bool *first, int depth) {
  char *before = trim->out;
  bool was_first = *first;

  if (!trim->wanted || size > MAX_TOPIC) return skip_value(trim, depth);
  trim->topic = name;
  trim->topic_size = size;
  trim->any_wanted = false;
  put_member(trim, first, name, size);
  if (!trim_object(trim, TOPIC_RULES, depth)) return false;
  if (trim->any_wanted) return true;
  trim->out = before;
  *first = was_first;
  return true;
}

static bool copy_value(trim_t *trim, int depth) {
  const char *start;

  skip_space(trim);
  start = trim->at;
  if (!skip_value(trim, depth)) return false;
  put(trim, start, (size_t)(trim->at - start));
  return true;
}

static bool opens_container(trim_t *trim) {
  skip_space(trim);
  return trim->at < trim->end && (*trim->at == '{' || *trim->at == '[');
}

static bool trim_member(trim_t *trim, action_t action, const char *name, size_t size, bool *first, int depth) {
  if (action == TOPIC) return trim_topic(trim, name, size, first, depth);
  if (action == COPY_PLAIN) action = opens_container(trim) ? DROP : COPY;
  if (action == PARTITION && !is_wanted(trim, name, size)) action = DROP;
  if (action == DROP) return skip_value(trim, depth);
  put_member(trim, first, name, size);
  return action == COPY ? copy_value(trim, depth) : trim_object(trim, RULES[action], depth);
}

static bool trim_object(trim_t *trim, const rule_t *rules, int depth) {
  bool first = true;

  if (!take(trim, '{')) return false;
  put(trim, "{", 1);
  if (!take(trim, '}')) {
    do {
      const char *name;
      size_t size;

      if (!skip_string(trim, &name, &size) || !take(trim, ':')) return false;
      if (!trim_member(trim, action_of(rules, name, size), name, size, &first, depth + 1)) return false;
    } while (take(trim, ','));
    if (!take(trim, '}')) return false;
  }
  put(trim, "}", 1);
  return true;
}

long pk_stats_trim(const char *json, size_t size, pk_stats_wanted_fn wanted, void *context, char *out) {
  trim_t trim = {.at = json, .end = json + size, .out = out, .wanted = wanted, .context = context};

  if (!trim_object(&trim, ROOT_RULES, 0)) return -1;
  skip_space(&trim);
  return trim.at == trim.end ? (long)(trim.out - out) : -1;
}
