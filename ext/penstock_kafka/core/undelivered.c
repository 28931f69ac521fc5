#include "undelivered.h"

#include <stdlib.h>
#include <string.h>

void pk_undelivered_list_init(pk_undelivered_list_t *undelivered) {
  memset(undelivered, 0, sizeof *undelivered);
  pthread_mutex_init(&undelivered->lock, NULL);
  undelivered->end = &undelivered->first;
}

void pk_undelivered_list_destroy(pk_undelivered_list_t *undelivered) {
  pk_undelivered_t *entry;

  while ((entry = pk_undelivered_list_take(undelivered))) pk_undelivered_free(entry);
  pthread_mutex_destroy(&undelivered->lock);
}

void pk_undelivered_list_begin(pk_undelivered_list_t *undelivered, bool keep) {
  pthread_mutex_lock(&undelivered->lock);
  undelivered->counting = true;
  undelivered->keeping = undelivered->keeping || keep;
  pthread_mutex_unlock(&undelivered->lock);
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

static pk_undelivered_t *pk_undelivered_new(const rd_kafka_message_t *message) {
  pk_undelivered_t *entry = calloc(1, sizeof *entry);
  rd_kafka_headers_t *headers = NULL;

  if (!entry) abort();
  entry->topic = strdup(rd_kafka_topic_name(message->rkt));
  entry->payload = pk_copy(message->payload, entry->payload_size = message->len);
  entry->key = pk_copy(message->key, entry->key_size = message->key_len);
  if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    entry->headers = rd_kafka_headers_copy(headers);
  }
  entry->timestamp_ms = pk_timestamp_ms(message);
  entry->partition = message->partition;
  entry->err = message->err;
  entry->persisted = rd_kafka_message_status(message);
  return entry;
}

void pk_undelivered_list_add(pk_undelivered_list_t *undelivered, const rd_kafka_message_t *message) {
  pthread_mutex_lock(&undelivered->lock);
  if (undelivered->counting) {
    if (rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED) undelivered->failed++;
    else undelivered->unknown++;
  }
  if (undelivered->keeping) {
    *undelivered->end = pk_undelivered_new(message);
    undelivered->end = &(*undelivered->end)->next;
  }
  pthread_mutex_unlock(&undelivered->lock);
}

void pk_undelivered_list_add_unknown(pk_undelivered_list_t *undelivered, uint64_t count) {
  pthread_mutex_lock(&undelivered->lock);
  if (undelivered->counting) undelivered->unknown += count;
  pthread_mutex_unlock(&undelivered->lock);
}

pk_undelivered_t *pk_undelivered_list_take(pk_undelivered_list_t *undelivered) {
  pk_undelivered_t *entry;

  pthread_mutex_lock(&undelivered->lock);
  if ((entry = undelivered->first)) {
    undelivered->first = entry->next;
    if (!undelivered->first) undelivered->end = &undelivered->first;
    entry->next = NULL;
  }
  pthread_mutex_unlock(&undelivered->lock);
  return entry;
}

void pk_undelivered_free(pk_undelivered_t *entry) {
  free(entry->topic);
  free(entry->payload);
  free(entry->key);
  if (entry->headers) rd_kafka_headers_destroy(entry->headers);
  free(entry);
}
