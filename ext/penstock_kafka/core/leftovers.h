#ifndef PK_LEFTOVERS_H
#define PK_LEFTOVERS_H

#include <pthread.h>
#include <rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages that a producer could not deliver before its end: their number, and,
 * if requested, the messages themselves. The event thread adds them during a
 * close; the binding takes them out afterwards. */
typedef struct pk_leftover {
  char *topic;
  void *payload; /* NULL: a tombstone */
  void *key;
  size_t payload_size, key_size;
  rd_kafka_headers_t *headers; /* NULL: none */
  int64_t timestamp_ms;
  int32_t partition;
  rd_kafka_resp_err_t err;
  rd_kafka_msg_status_t persisted;
  struct pk_leftover *next;
} pk_leftover_t;

typedef struct pk_leftovers {
  pthread_mutex_t lock;
  bool counting, keeping;
  uint64_t failed;  /* certainly not stored */
  uint64_t unknown; /* sent, and no answer came */
  pk_leftover_t *first, **end;
} pk_leftovers_t;

void pk_leftovers_init(pk_leftovers_t *leftovers);
void pk_leftovers_destroy(pk_leftovers_t *leftovers);

/* From here on failed messages are counted; with `keep` they are copied too. */
void pk_leftovers_begin(pk_leftovers_t *leftovers, bool keep);

/* A message whose delivery failed. Does nothing before begin. */
void pk_leftovers_add(pk_leftovers_t *leftovers, const rd_kafka_message_t *message);

/* Messages of which only the number is known. */
void pk_leftovers_add_unknown(pk_leftovers_t *leftovers, uint64_t count);

/* The oldest; the caller frees it. NULL if there is none. */
pk_leftover_t *pk_leftovers_take(pk_leftovers_t *leftovers);
void pk_leftover_free(pk_leftover_t *leftover);

#endif
