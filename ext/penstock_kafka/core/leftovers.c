#include "leftovers.h"

#include <stdlib.h>
#include <string.h>

void pk_leftovers_init(pk_leftovers_t *leftovers) {
  memset(leftovers, 0, sizeof *leftovers);
  pthread_mutex_init(&leftovers->lock, NULL);
  leftovers->end = &leftovers->first;
}

void pk_leftovers_destroy(pk_leftovers_t *leftovers) {
  pk_leftover_t *leftover;

  while ((leftover = pk_leftovers_take(leftovers))) pk_leftover_free(leftover);
  pthread_mutex_destroy(&leftovers->lock);
}

void pk_leftovers_begin(pk_leftovers_t *leftovers, bool keep) {
  pthread_mutex_lock(&leftovers->lock);
  leftovers->counting = true;
  leftovers->keeping = leftovers->keeping || keep;
  pthread_mutex_unlock(&leftovers->lock);
}

static void *pk_copy(const void *bytes, size_t size) {
  void *copy;

  if (!bytes) return NULL;
  if (!(copy = malloc(size + 1))) abort();
  memcpy(copy, bytes, size);
  return copy;
}

/* librdkafka knows it, but only returns it for messages without an error. */
static int64_t pk_timestamp_ms(const rd_kafka_message_t *message) {
  rd_kafka_resp_err_t *err = (rd_kafka_resp_err_t *)&message->err, kept = *err;
  rd_kafka_timestamp_type_t type;
  int64_t timestamp_ms;

  *err = RD_KAFKA_RESP_ERR_NO_ERROR;
  timestamp_ms = rd_kafka_message_timestamp(message, &type);
  *err = kept;
  return timestamp_ms;
}

static pk_leftover_t *pk_leftover_new(const rd_kafka_message_t *message) {
  pk_leftover_t *leftover = calloc(1, sizeof *leftover);
  rd_kafka_headers_t *headers = NULL;

  if (!leftover) abort();
  leftover->topic = strdup(rd_kafka_topic_name(message->rkt));
  leftover->payload = pk_copy(message->payload, leftover->payload_size = message->len);
  leftover->key = pk_copy(message->key, leftover->key_size = message->key_len);
  if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    leftover->headers = rd_kafka_headers_copy(headers);
  }
  leftover->timestamp_ms = pk_timestamp_ms(message);
  leftover->partition = message->partition;
  leftover->err = message->err;
  leftover->persisted = rd_kafka_message_status(message);
  return leftover;
}

void pk_leftovers_add(pk_leftovers_t *leftovers, const rd_kafka_message_t *message) {
  pthread_mutex_lock(&leftovers->lock);
  if (leftovers->counting) {
    if (rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED) leftovers->failed++;
    else leftovers->unknown++;
  }
  if (leftovers->keeping) {
    *leftovers->end = pk_leftover_new(message);
    leftovers->end = &(*leftovers->end)->next;
  }
  pthread_mutex_unlock(&leftovers->lock);
}

void pk_leftovers_add_unknown(pk_leftovers_t *leftovers, uint64_t count) {
  pthread_mutex_lock(&leftovers->lock);
  if (leftovers->counting) leftovers->unknown += count;
  pthread_mutex_unlock(&leftovers->lock);
}

pk_leftover_t *pk_leftovers_take(pk_leftovers_t *leftovers) {
  pk_leftover_t *leftover;

  pthread_mutex_lock(&leftovers->lock);
  if ((leftover = leftovers->first)) {
    leftovers->first = leftover->next;
    if (!leftovers->first) leftovers->end = &leftovers->first;
    leftover->next = NULL;
  }
  pthread_mutex_unlock(&leftovers->lock);
  return leftover;
}

void pk_leftover_free(pk_leftover_t *leftover) {
  free(leftover->topic);
  free(leftover->payload);
  free(leftover->key);
  if (leftover->headers) rd_kafka_headers_destroy(leftover->headers);
  free(leftover);
}
