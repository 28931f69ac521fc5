#include "batch.h"

#include <stdlib.h>
#include <string.h>

/* A header in the arena: name size, value size (PK_NO_VALUE for none), name,
 * value; the sizes unaligned. */
#define PK_NO_VALUE UINT32_MAX
#define PK_HEADER_SIZES (2 * sizeof(uint32_t))

void pk_batch_init(pk_batch_t *batch) {
  memset(batch, 0, sizeof *batch);
  batch->from = batch->to = PK_NO_OFFSET;
  batch->eof = PK_NONE;
}

void pk_batch_free(pk_batch_t *batch) {
  pk_arena_free(&batch->arena);
  free(batch->records);
  free(batch->error_message);
  batch->records = NULL;
  batch->error_message = NULL;
  batch->count = batch->capacity = 0;
}

bool pk_batch_empty(const pk_batch_t *batch) {
  return batch->count == 0 && batch->eof == PK_NONE && batch->error == 0;
}

size_t pk_batch_footprint(const pk_batch_t *batch) {
  return batch->arena.bytes + batch->capacity * sizeof *batch->records;
}

static void pk_batch_reserve(pk_batch_t *batch, size_t more) {
  size_t wanted = batch->count + more;

  if (wanted <= batch->capacity) return;
  if (batch->capacity && wanted < 2 * (size_t)batch->capacity) wanted = 2 * (size_t)batch->capacity;
  batch->records = pk_realloc(batch->records, wanted * sizeof *batch->records);
  batch->capacity = (uint32_t)wanted;
}

static size_t pk_headers_size(const rd_kafka_headers_t *headers, int32_t *count) {
  size_t total = 0, value_size, i;
  const char *name;
  const void *value;

  for (i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &value_size); i++) {
    total += PK_HEADER_SIZES + strlen(name) + (value ? value_size : 0);
  }
  *count = (int32_t)i;
  return total;
}

static char *pk_put(char *at, const void *bytes, size_t size) {
  if (size) memcpy(at, bytes, size);
  return at + size;
}

static void pk_headers_write(char *at, const rd_kafka_headers_t *headers) {
  size_t value_size;
  const char *name;
  const void *value;

  for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &value_size); i++) {
    uint32_t sizes[2] = {(uint32_t)strlen(name), value ? (uint32_t)value_size : PK_NO_VALUE};

    at = pk_put(at, sizes, sizeof sizes);
    at = pk_put(at, name, sizes[0]);
    at = pk_put(at, value, value ? value_size : 0);
  }
}

bool pk_record_next_header(const pk_record_t *record, const char **position, pk_header_t *header) {
  const char *end = record->data + pk_record_bytes(record);
  uint32_t sizes[2];

  if (!*position) *position = end - record->headers_size;
  if (*position >= end) return false;
  memcpy(sizes, *position, sizeof sizes);
  header->name = *position + sizeof sizes;
  header->name_size = sizes[0];
  header->value = sizes[1] == PK_NO_VALUE ? NULL : header->name + sizes[0];
  header->value_size = sizes[1] == PK_NO_VALUE ? 0 : sizes[1];
  *position = header->name + sizes[0] + header->value_size;
  return true;
}

static void pk_batch_copy(pk_batch_t *batch, const rd_kafka_message_t *message) {
  pk_record_t *record = &batch->records[batch->count++];
  rd_kafka_headers_t *headers = NULL;
  rd_kafka_timestamp_type_t type;
  size_t payload_size = message->payload ? message->len : 0;
  size_t key_size = message->key ? message->key_len : 0;
  size_t headers_size = 0;
  char *at;

  record->headers_count = 0;
  if (!rd_kafka_message_headers(message, &headers)) headers_size = pk_headers_size(headers, &record->headers_count);
  record->offset = message->offset;
  record->timestamp = rd_kafka_message_timestamp(message, &type);
  record->timestamp_type = (int8_t)type;
  record->leader_epoch = rd_kafka_message_leader_epoch(message);
  record->payload_size = message->payload ? (int32_t)payload_size : PK_NONE;
  record->key_size = message->key ? (int32_t)key_size : PK_NONE;
  record->headers_size = (int32_t)headers_size;
  record->data = at = pk_arena_alloc(&batch->arena, payload_size + key_size + headers_size);
  at = pk_put(at, message->payload, payload_size);
  at = pk_put(at, message->key, key_size);
  if (headers) pk_headers_write(at, headers);
  batch->bytes += payload_size + key_size + headers_size;
  batch->to = message->offset + 1;
  batch->eof = PK_NONE;
}

static void pk_batch_note(pk_batch_t *batch, const rd_kafka_message_t *message) {
  if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    batch->eof = message->offset;
  } else if (!batch->error) {
    batch->error = message->err;
    batch->error_message = pk_strdup(rd_kafka_message_errstr(message));
  }
}

/* An estimate: headers aren't parsed for it. */
static size_t pk_messages_bytes(rd_kafka_message_t **messages, size_t count) {
  size_t bytes = 0;

  for (size_t i = 0; i < count; i++) {
    if (!messages[i]->err) bytes += messages[i]->len + messages[i]->key_len;
  }
  return bytes;
}

void pk_batch_absorb(pk_batch_t *batch, rd_kafka_message_t **messages, size_t count) {
  pk_batch_reserve(batch, count);
  pk_arena_expect(&batch->arena, pk_messages_bytes(messages, count));
  for (size_t i = 0; i < count; i++) {
    if (messages[i]->err) {
      pk_batch_note(batch, messages[i]);
    } else {
      pk_batch_copy(batch, messages[i]);
    }
    rd_kafka_message_destroy(messages[i]);
  }
}
