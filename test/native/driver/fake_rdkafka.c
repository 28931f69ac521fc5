#include "fake_rdkafka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct fake_message {
  rd_kafka_message_t message;
  struct fake_message *next;
  int headers;
} fake_message_t;

struct rd_kafka_queue_s {
  pthread_mutex_t lock;
  fake_message_t *first, **last;
  void (*on_event)(rd_kafka_t *, void *);
  void *opaque;
};

static _Atomic int messages_alive, queues_alive;
static rd_kafka_queue_t *next_queue;

rd_kafka_queue_t *fake_queue(void) {
  rd_kafka_queue_t *queue = calloc(1, sizeof *queue);

  pthread_mutex_init(&queue->lock, NULL);
  queue->last = &queue->first;
  atomic_fetch_add(&queues_alive, 1);
  return next_queue = queue;
}

int fake_messages_alive(void) {
  return messages_alive;
}

int fake_queues_alive(void) {
  return queues_alive;
}

static void enqueue(rd_kafka_queue_t *queue, fake_message_t *message) {
  atomic_fetch_add(&messages_alive, 1);
  pthread_mutex_lock(&queue->lock);
  *queue->last = message;
  queue->last = &message->next;
  if (queue->first == message && queue->on_event) queue->on_event(NULL, queue->opaque);
  pthread_mutex_unlock(&queue->lock);
}

void fake_push(rd_kafka_queue_t *queue, int64_t offset, const char *payload, int headers) {
  fake_message_t *message = calloc(1, sizeof *message);

  message->message.offset = offset;
  message->message.payload = payload ? strdup(payload) : NULL;
  message->message.len = payload ? strlen(payload) : 0;
  message->headers = headers;
  enqueue(queue, message);
}

void fake_push_error(rd_kafka_queue_t *queue, rd_kafka_resp_err_t err, int64_t offset) {
  fake_message_t *message = calloc(1, sizeof *message);

  message->message.err = err;
  message->message.offset = offset;
  enqueue(queue, message);
}

/* ---- called by the driver ---- */

rd_kafka_queue_t *rd_kafka_queue_get_partition(rd_kafka_t *rk, const char *topic, int32_t partition) {
  (void)rk, (void)topic, (void)partition;
  return next_queue;
}

void rd_kafka_queue_forward(rd_kafka_queue_t *queue, rd_kafka_queue_t *to) {
  (void)queue, (void)to;
}

void rd_kafka_queue_cb_event_enable(rd_kafka_queue_t *queue, void (*on_event)(rd_kafka_t *, void *), void *opaque) {
  pthread_mutex_lock(&queue->lock);
  queue->on_event = on_event;
  queue->opaque = opaque;
  pthread_mutex_unlock(&queue->lock);
}

ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *queue, int timeout_ms, rd_kafka_message_t **messages,
                                     size_t size) {
  size_t count = 0;

  (void)timeout_ms;
  pthread_mutex_lock(&queue->lock);
  while (count < size && queue->first) {
    messages[count++] = &queue->first->message;
    queue->first = queue->first->next;
    if (!queue->first) queue->last = &queue->first;
  }
  pthread_mutex_unlock(&queue->lock);
  return (ssize_t)count;
}

void rd_kafka_message_destroy(rd_kafka_message_t *message) {
  free(message->payload);
  free(message);
  atomic_fetch_sub(&messages_alive, 1);
}

void rd_kafka_queue_destroy(rd_kafka_queue_t *queue) {
  rd_kafka_message_t *message;

  while (rd_kafka_consume_batch_queue(queue, 0, &message, 1) == 1) rd_kafka_message_destroy(message);
  pthread_mutex_destroy(&queue->lock);
  free(queue);
  atomic_fetch_sub(&queues_alive, 1);
}

const char *rd_kafka_message_errstr(const rd_kafka_message_t *message) {
  return message->err ? "an error" : NULL;
}

rd_kafka_resp_err_t rd_kafka_message_headers(const rd_kafka_message_t *message, rd_kafka_headers_t **headers) {
  const fake_message_t *fake = (const fake_message_t *)message;

  if (!fake->headers) return RD_KAFKA_RESP_ERR__NOENT;
  *headers = (rd_kafka_headers_t *)&fake->headers;
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Header 0 has no value, header 1 an empty one, the others their number. */
rd_kafka_resp_err_t rd_kafka_header_get_all(const rd_kafka_headers_t *headers, size_t index, const char **name,
                                            const void **value, size_t *size) {
  static const char *const values[] = {NULL, "", "2", "3", "4"};

  if (index >= (size_t) * (const int *)headers) return RD_KAFKA_RESP_ERR__NOENT;
  *name = "name";
  *value = values[index];
  *size = values[index] ? strlen(values[index]) : 0;
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *message, rd_kafka_timestamp_type_t *type) {
  *type = RD_KAFKA_TIMESTAMP_CREATE_TIME;
  return message->offset * 10;
}

int32_t rd_kafka_message_leader_epoch(const rd_kafka_message_t *message) {
  (void)message;
  return 3;
}
