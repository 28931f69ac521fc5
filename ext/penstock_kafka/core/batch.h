#ifndef PK_BATCH_CORE_H
#define PK_BATCH_CORE_H

#include <rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* Records copied out of librdkafka. Independent of any handle: it may be read
 * and freed long after the consumer is closed. Filled by the thread that takes,
 * without the GVL; from then on read-only and guarded by the GVL. */

#define PK_NONE (-1)         /* no payload, key, headers, epoch, EOF */
#define PK_NO_OFFSET (-1001) /* RD_KAFKA_OFFSET_INVALID */

typedef struct {
  int64_t offset;
  int64_t timestamp;
  const char *data; /* payload, key, headers, one after the other */
  int32_t payload_size;
  int32_t key_size;
  int32_t headers_size;
  int32_t leader_epoch;
  int32_t headers_count;
  int8_t timestamp_type; /* rd_kafka_timestamp_type_t */
} pk_record_t;

typedef struct {
  pk_arena_t arena;
  pk_record_t *records;
  uint32_t count;
  uint32_t capacity;
  size_t bytes; /* payloads, keys and headers */
  int64_t from; /* the lane's cursor before the take */
  int64_t to;   /* last offset + 1, `from` when empty */
  int64_t eof;  /* offset of the end reached after the last record, or PK_NONE */
  int error;    /* the lane's first error, 0 for none; the take ends there */
  char *error_message;
  bool full; /* there may be more in the lane */
} pk_batch_t;

typedef struct {
  const char *name;
  const char *value; /* NULL for a header without a value */
  uint32_t name_size;
  uint32_t value_size;
} pk_header_t;

void pk_batch_init(pk_batch_t *batch);
void pk_batch_free(pk_batch_t *batch);

/* True if it has nothing to return: no record, no end, no error. */
bool pk_batch_empty(const pk_batch_t *batch);

/* Copies the messages (records, ends, errors) and destroys each. */
void pk_batch_absorb(pk_batch_t *batch, rd_kafka_message_t **messages, size_t count);

/* Allocated bytes, for the garbage collector. */
size_t pk_batch_footprint(const pk_batch_t *batch);

static inline const char *pk_record_payload(const pk_record_t *record) {
  return record->payload_size == PK_NONE ? NULL : record->data;
}

static inline const char *pk_record_key(const pk_record_t *record) {
  if (record->key_size == PK_NONE) return NULL;
  return record->data + (record->payload_size > 0 ? record->payload_size : 0);
}

static inline size_t pk_record_bytes(const pk_record_t *record) {
  return (size_t)(record->payload_size > 0 ? record->payload_size : 0) +
         (size_t)(record->key_size > 0 ? record->key_size : 0) + (size_t)record->headers_size;
}

/* Walks a record's headers: start with *position = NULL; false at the end. */
bool pk_record_next_header(const pk_record_t *record, const char **position, pk_header_t *header);

#endif
