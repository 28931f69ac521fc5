#ifndef PK_UNDELIVERED_H
#define PK_UNDELIVERED_H

#include <pthread.h>
#include <rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages that a producer could not deliver before its end: their number, and,
 * if requested, the messages themselves. The event thread adds them during a
 * close; the binding takes them out afterwards. */
typedef struct pk_undelivered {
  char *topic;
  void *payload; /* NULL: a tombstone */
  void *key;
  size_t payload_size, key_size;
  rd_kafka_headers_t *headers; /* NULL: none */
  int64_t timestamp_ms;
  int32_t partition;
  rd_kafka_resp_err_t err;
  rd_kafka_msg_status_t persisted;
  struct pk_undelivered *next;
} pk_undelivered_t;

typedef struct pk_undelivered_list {
  pthread_mutex_t lock;
  bool counting, keeping;
  uint64_t failed;  /* certainly not stored */
  uint64_t unknown; /* sent, and no answer came */
  pk_undelivered_t *first, **end;
} pk_undelivered_list_t;

void pk_undelivered_list_init(pk_undelivered_list_t *undelivered);
void pk_undelivered_list_destroy(pk_undelivered_list_t *undelivered);

/* From here on failed messages are counted; with `keep` they are copied too. */
void pk_undelivered_list_begin(pk_undelivered_list_t *undelivered, bool keep);

/* A message whose delivery failed. Does nothing before begin. */
void pk_undelivered_list_add(pk_undelivered_list_t *undelivered, const rd_kafka_message_t *message);

/* Messages of which only the number is known. */
void pk_undelivered_list_add_unknown(pk_undelivered_list_t *undelivered, uint64_t count);

/* The oldest; the caller frees it. NULL if there is none. */
pk_undelivered_t *pk_undelivered_list_take(pk_undelivered_list_t *undelivered);
void pk_undelivered_free(pk_undelivered_t *entry);

#endif
