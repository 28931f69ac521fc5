#include <string.h>

#include "crc32c.h"
#include "envelope_format.h"

#define VARINT_BYTES 10

/* Bytes written so far; `full` once something didn't fit, and then nothing is
 * written any more. */
typedef struct {
  uint8_t bytes[PK_ENVELOPE_BYTES];
  size_t size;
  bool full;
} out_t;

static void put_bytes(out_t *out, const void *bytes, size_t size) {
  if (out->full || size > sizeof out->bytes - out->size) {
    out->full = true;
    return;
  }
  if (size) memcpy(out->bytes + out->size, bytes, size);
  out->size += size;
}

static void put_number(out_t *out, uint64_t value, size_t size) {
  uint8_t bytes[8];

  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
  put_bytes(out, bytes, size);
}

static void put_varint(out_t *out, uint64_t value) {
  uint8_t bytes[VARINT_BYTES];
  size_t size = 0;

  do {
    bytes[size++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
    value >>= 7;
  } while (value);
  put_bytes(out, bytes, size);
}

/* A section's size is known at its end. */
static size_t section_begin(out_t *out, int type) {
  put_number(out, (uint64_t)type, 1);
  put_number(out, 0, 2);
  return out->size;
}

static void section_end(out_t *out, size_t began) {
  size_t size = out->size - began;

  if (out->full) return;
  out->bytes[began - 2] = (uint8_t)(size >> 8);
  out->bytes[began - 1] = (uint8_t)size;
}

static size_t varint_size(uint64_t value) {
  size_t size = 1;

  while (value >>= 7) size++;
  return size;
}

static size_t runs_size(const pk_envelope_t *envelope) {
  int64_t end = envelope->base;
  size_t size = 0;

  for (size_t i = 0; i < envelope->range_count; i++) {
    const pk_range_t *range = &envelope->ranges[i];

    size += varint_size((uint64_t)(range->from - end)) + varint_size((uint64_t)(range->to - range->from));
    end = range->to;
  }
  return size;
}

static size_t bitmap_size(const pk_envelope_t *envelope) {
  int64_t first = envelope->ranges[0].from, last = envelope->ranges[envelope->range_count - 1].to;

  return varint_size((uint64_t)(first - envelope->base)) + (size_t)((uint64_t)(last - first) + 7) / 8;
}

static void put_runs(out_t *out, const pk_envelope_t *envelope) {
  size_t began = section_begin(out, PK_SECTION_RUNS);
  int64_t end = envelope->base;

  for (size_t i = 0; i < envelope->range_count; i++) {
    put_varint(out, (uint64_t)(envelope->ranges[i].from - end));
    put_varint(out, (uint64_t)(envelope->ranges[i].to - envelope->ranges[i].from));
    end = envelope->ranges[i].to;
  }
  section_end(out, began);
}

static void put_bitmap(out_t *out, const pk_envelope_t *envelope) {
  size_t began = section_begin(out, PK_SECTION_BITMAP), bits;
  int64_t first = envelope->ranges[0].from;

  put_varint(out, (uint64_t)(first - envelope->base));
  bits = out->size;
  for (size_t i = 0; i < envelope->range_count && !out->full; i++) {
    for (int64_t offset = envelope->ranges[i].from; offset < envelope->ranges[i].to; offset++) {
      size_t bit = (size_t)(offset - first);

      while (!out->full && out->size <= bits + bit / 8) put_number(out, 0, 1);
      if (out->full) break;
      out->bytes[bits + bit / 8] |= (uint8_t)(1u << (bit % 8));
    }
  }
  section_end(out, began);
}

static void put_completed(out_t *out, const pk_envelope_t *envelope) {
  if (!envelope->range_count) return;
  if (runs_size(envelope) <= bitmap_size(envelope)) {
    put_runs(out, envelope);
  } else {
    put_bitmap(out, envelope);
  }
}

static void put_attempts(out_t *out, const pk_envelope_t *envelope) {
  int64_t end = envelope->base;
  size_t began;

  if (!envelope->attempt_count) return;
  began = section_begin(out, PK_SECTION_ATTEMPTS);
  for (size_t i = 0; i < envelope->attempt_count; i++) {
    put_varint(out, (uint64_t)(envelope->attempts[i].offset - end));
    put_varint(out, envelope->attempts[i].count);
    end = envelope->attempts[i].offset + 1;
  }
  section_end(out, began);
}

static void put_user(out_t *out, const pk_envelope_t *envelope) {
  size_t began;

  if (!envelope->user) return;
  began = section_begin(out, PK_SECTION_USER);
  put_bytes(out, envelope->user, envelope->user_size);
  section_end(out, began);
}

static void put_checksum(out_t *out) {
  uint32_t crc = pk_crc32c(0, PK_PREFIX, sizeof PK_PREFIX - 1);

  put_number(out, pk_crc32c(crc, out->bytes, out->size), PK_CHECKSUM_BYTES);
}

static bool ascending(const pk_envelope_t *envelope) {
  int64_t end = envelope->base;

  if (envelope->base < 0) return false;
  for (size_t i = 0; i < envelope->range_count; i++) {
    if (envelope->ranges[i].from <= end || envelope->ranges[i].to <= envelope->ranges[i].from) return false;
    end = envelope->ranges[i].to;
  }
  end = envelope->base;
  for (size_t i = 0; i < envelope->attempt_count; i++) {
    if (envelope->attempts[i].offset < end || envelope->attempts[i].offset == INT64_MAX) return false;
    end = envelope->attempts[i].offset + 1;
  }
  return true;
}

uint32_t pk_envelope_place(const char *cluster, size_t cluster_size, const char *topic, size_t topic_size) {
  uint32_t crc = pk_crc32c(0, cluster, cluster_size);

  return pk_crc32c(pk_crc32c(crc, "", 1), topic, topic_size);
}

pk_envelope_status_t pk_envelope_encode(const pk_envelope_t *envelope, char *text, size_t *size) {
  out_t out = {.size = 0};
  size_t prefix = sizeof PK_PREFIX - 1;

  if (envelope->user_size > PK_ENVELOPE_USER_MAX) return PK_ENVELOPE_TOO_LARGE;
  if (!ascending(envelope)) return PK_ENVELOPE_DAMAGED;
  put_number(&out, envelope->clean ? PK_FLAG_CLEAN : 0, 1);
  put_number(&out, (uint64_t)envelope->base, 8);
  put_number(&out, envelope->place, 4);
  put_completed(&out, envelope);
  put_attempts(&out, envelope);
  put_user(&out, envelope);
  put_checksum(&out);
  if (out.full || prefix + (out.size * 4 + 2) / 3 > PK_ENVELOPE_MAX) return PK_ENVELOPE_TOO_LARGE;
  memcpy(text, PK_PREFIX, prefix);
  *size = prefix + pk_base64_encode(out.bytes, out.size, text + prefix);
  return PK_ENVELOPE_OK;
}
