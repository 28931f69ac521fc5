#include "producer_topics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pk_topic_t *pk_producer_topic_named(pk_producer_t *producer, const char *name) {
  for (size_t i = 0; i < producer->topic_count; i++) {
    if (strcmp(producer->topics[i]->name, name) == 0) return producer->topics[i];
  }
  return NULL;
}

static pk_topic_t *pk_topic_find(pk_producer_t *producer, const char *key) {
  for (size_t i = 0; i < producer->topic_count; i++) {
    if (strcmp(producer->topics[i]->key, key) == 0) return producer->topics[i];
  }
  return NULL;
}

static rd_kafka_topic_conf_t *pk_topic_conf(pk_producer_t *producer, pk_topic_wish_t *wish) {
  rd_kafka_topic_conf_t *conf = rd_kafka_default_topic_conf_dup(producer->handle.rk);

  for (size_t i = 0; i < 2 * wish->count; i += 2) {
    if (rd_kafka_topic_conf_set(conf, wish->pairs[i], wish->pairs[i + 1], wish->error, sizeof wish->error) ==
        RD_KAFKA_CONF_OK) {
      continue;
    }
    wish->err = RD_KAFKA_RESP_ERR__INVALID_ARG;
    rd_kafka_topic_conf_destroy(conf);
    return NULL;
  }
  return conf;
}

/* Both were created in the same way, so their properties are in the same order. */
static bool pk_same_conf(rd_kafka_topic_conf_t *one, rd_kafka_topic_conf_t *other) {
  size_t one_count, other_count, i = 0;
  const char **ones = rd_kafka_topic_conf_dump(one, &one_count);
  const char **others = rd_kafka_topic_conf_dump(other, &other_count);
  bool same = one_count == other_count;

  for (; same && i < one_count; i++) same = strcmp(ones[i], others[i]) == 0;
  rd_kafka_conf_dump_free(ones, one_count);
  rd_kafka_conf_dump_free(others, other_count);
  return same;
}

static pk_topic_t *pk_topic_new(pk_producer_t *producer, pk_topic_wish_t *wish, rd_kafka_topic_conf_t *conf) {
  rd_kafka_topic_conf_t *own = rd_kafka_topic_conf_dup(conf);
  pk_topic_t *topic = calloc(1, sizeof *topic);

  if (!topic) abort();
  rd_kafka_topic_conf_set_opaque(own, topic);
  if (!(topic->rkt = rd_kafka_topic_new(producer->handle.rk, wish->name, own))) {
    wish->err = rd_kafka_last_error();
    free(topic);
    return NULL;
  }
  topic->conf = conf;
  topic->key = strdup(wish->key);
  topic->name = strdup(wish->name);
  return topic;
}

static pk_topic_t *pk_topic_add(pk_producer_t *producer, pk_topic_t *topic) {
  pk_topic_t **topics = realloc(producer->topics, (producer->topic_count + 1) * sizeof *topics);

  if (!topics) abort();
  producer->topics = topics;
  topic->index = producer->topic_count;
  return topics[producer->topic_count++] = topic;
}

pk_topic_t *pk_producer_topic(pk_producer_t *producer, pk_topic_wish_t *wish) {
  pk_topic_t *topic = pk_topic_find(producer, wish->key), *used;
  rd_kafka_topic_conf_t *conf;

  if (topic) return topic;
  if (!(conf = pk_topic_conf(producer, wish))) return NULL;
  used = pk_producer_topic_named(producer, wish->name);
  if (used && !pk_same_conf(used->conf, conf)) {
    wish->err = RD_KAFKA_RESP_ERR__CONFLICT;
    snprintf(wish->error, sizeof wish->error, "this client uses %s with other properties", wish->name);
  } else if ((topic = pk_topic_new(producer, wish, conf))) {
    return pk_topic_add(producer, topic);
  }
  rd_kafka_topic_conf_destroy(conf);
  return NULL;
}

void pk_topics_close(pk_producer_t *producer) {
  for (size_t i = 0; i < producer->topic_count; i++) {
    if (producer->topics[i]->rkt) rd_kafka_topic_destroy(producer->topics[i]->rkt);
    producer->topics[i]->rkt = NULL;
  }
}

void pk_topics_free(pk_producer_t *producer) {
  for (size_t i = 0; i < producer->topic_count; i++) {
    pk_topic_t *topic = producer->topics[i];

    rd_kafka_topic_conf_destroy(topic->conf);
    free(topic->key);
    free(topic->name);
    free(topic);
  }
  free(producer->topics);
}
