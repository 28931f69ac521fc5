#include <string.h>

#include "crc32c.h"
#include "envelope_format.h"

#define VARINT_BYTES 10

/* Bytes written so far; `full` once something didn't fit, and then nothing more
 * is written. */
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

/* A section's size is known only at its end. */
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

static void put_runs(out_t *out, const pk_envelope_t *envelope, size_t count) {
  int64_t end = envelope->base;
  size_t began;

  if (!count) return;
  began = section_begin(out, PK_SECTION_RUNS);
  for (size_t i = 0; i < count; i++) {
    put_varint(out, (uint64_t)(envelope->ranges[i].from - end));
    put_varint(out, (uint64_t)(envelope->ranges[i].to - envelope->ranges[i].from));
    end = envelope->ranges[i].to;
  }
  section_end(out, began);
}

static void put_bits(out_t *out, size_t start, uint64_t from, uint64_t to) {
  for (uint64_t bit = from; bit < to; bit++) {
    while (!out->full && out->size <= start + bit / 8) put_number(out, 0, 1);
    if (out->full) return;
    out->bytes[start + bit / 8] |= (uint8_t)(1u << (bit % 8));
  }
}

static void put_bitmap(out_t *out, const pk_envelope_t *envelope, const pk_map_plan_t *plan) {
  size_t began, start;
  int64_t first;

  if (!plan->bits) return;
  began = section_begin(out, PK_SECTION_BITMAP);
  first = envelope->ranges[plan->runs].from;
  put_varint(out, (uint64_t)(first - envelope->base));
  start = out->size;
  for (size_t i = plan->runs; i < envelope->range_count; i++) {
    uint64_t from = (uint64_t)(envelope->ranges[i].from - first), to = (uint64_t)(envelope->ranges[i].to - first);

    if (from >= plan->bits) break;
    put_bits(out, start, from, to < plan->bits ? to : plan->bits);
  }
  section_end(out, began);
}

static void put_counts(out_t *out, const pk_envelope_t *envelope, const pk_attempt_t *counts, size_t count) {
  int64_t end = envelope->base;

  for (size_t i = 0; i < count; i++) {
    put_varint(out, (uint64_t)(counts[i].offset - end));
    put_varint(out, counts[i].count);
    end = counts[i].offset + 1;
  }
}

static void put_attempts(out_t *out, const pk_envelope_t *envelope, size_t count) {
  size_t began;

  if (!count) return;
  began = section_begin(out, PK_SECTION_ATTEMPTS);
  put_counts(out, envelope, envelope->attempts, count);
  section_end(out, began);
}

static void put_crashes(out_t *out, const pk_envelope_t *envelope, size_t count) {
  size_t began = section_begin(out, PK_SECTION_CRASHES);

  put_varint(out, envelope->unclean);
  put_counts(out, envelope, envelope->crashes, count);
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

/* -- checking --------------------------------------------------------------- */

static bool counts_ascend(const pk_attempt_t *counts, size_t count, int64_t end) {
  for (size_t i = 0; i < count; i++) {
    if (counts[i].offset < end || counts[i].offset == INT64_MAX) return false;
    end = counts[i].offset + 1;
  }
  return true;
}

static bool ascending(const pk_envelope_t *envelope) {
  int64_t end = envelope->base;

  if (envelope->base < 0) return false;
  for (size_t i = 0; i < envelope->range_count; i++) {
    if (envelope->ranges[i].from <= end || envelope->ranges[i].to <= envelope->ranges[i].from) return false;
    end = envelope->ranges[i].to;
  }
  return counts_ascend(envelope->attempts, envelope->attempt_count, envelope->base) &&
         counts_ascend(envelope->crashes, envelope->crash_count, envelope->base);
}

uint32_t pk_envelope_place(const char *cluster, size_t cluster_size, const char *topic, size_t topic_size) {
  uint32_t crc = pk_crc32c(0, cluster, cluster_size);

  return pk_crc32c(pk_crc32c(crc, "", 1), topic, topic_size);
}

/* -- dividing the space ----------------------------------------------------- */

/* Bytes of binary in a text of the given size, minus those that are always
 * present. */
static size_t room_of(const pk_envelope_t *envelope) {
  size_t budget = envelope->budget && envelope->budget < PK_ENVELOPE_MAX ? envelope->budget : PK_ENVELOPE_MAX;
  size_t prefix = sizeof PK_PREFIX - 1, used = PK_HEAD_BYTES + PK_CHECKSUM_BYTES;
  size_t bytes = budget > prefix ? (budget - prefix) * 3 / 4 : 0;

  if (envelope->user) used += PK_SECTION_HEAD_BYTES + envelope->user_size;
  return bytes > used ? bytes - used : 0;
}

static void take_room(size_t *room, size_t size) {
  *room -= size;
}

/* How many of the counts fit into the space after `head` bytes; takes the space
 * they need. */
static size_t counts_that_fit(const pk_envelope_t *envelope, const pk_attempt_t *counts, size_t count, size_t head,
                              size_t *room) {
  int64_t end = envelope->base;
  size_t fit = 0, size = head;

  for (; fit < count; fit++) {
    size_t more = pk_varint_size((uint64_t)(counts[fit].offset - end)) + pk_varint_size(counts[fit].count);

    if (size + more > *room) break;
    size += more;
    end = counts[fit].offset + 1;
  }
  if (fit) take_room(room, size);
  return fit;
}

typedef struct {
  bool crash_section;
  size_t crashes, attempts;
  pk_map_plan_t map;
} shares_t;

static shares_t share_out(const pk_envelope_t *envelope) {
  size_t room = room_of(envelope), head = PK_SECTION_HEAD_BYTES + pk_varint_size(envelope->unclean);
  shares_t shares = {.crash_section = (envelope->unclean || envelope->crash_count) && head <= room};

  if (shares.crash_section) {
    shares.crashes = counts_that_fit(envelope, envelope->crashes, envelope->crash_count, head, &room);
    if (!shares.crashes) take_room(&room, head);
  }
  shares.map = pk_map_plan(envelope->base, envelope->ranges, envelope->range_count, room);
  take_room(&room, shares.map.size);
  shares.attempts =
      counts_that_fit(envelope, envelope->attempts, envelope->attempt_count, PK_SECTION_HEAD_BYTES, &room);
  return shares;
}

static pk_left_out_t left_out_by(const pk_envelope_t *envelope, const shares_t *shares) {
  pk_left_out_t left_out = {.attempts = envelope->attempt_count - shares->attempts,
                            .crashes = envelope->crash_count - shares->crashes};

  for (size_t i = 0; i < envelope->range_count; i++) {
    left_out.offsets += (uint64_t)(envelope->ranges[i].to - envelope->ranges[i].from);
  }
  left_out.offsets -= shares->map.covered;
  return left_out;
}

pk_envelope_status_t pk_envelope_encode(const pk_envelope_t *envelope, char *text, size_t *size,
                                        pk_left_out_t *left_out) {
  out_t out = {.size = 0};
  size_t prefix = sizeof PK_PREFIX - 1;
  shares_t shares;

  if (envelope->user_size > PK_ENVELOPE_USER_MAX) return PK_ENVELOPE_TOO_LARGE;
  if (!ascending(envelope)) return PK_ENVELOPE_DAMAGED;
  shares = share_out(envelope);
  put_number(&out, envelope->clean ? PK_FLAG_CLEAN : 0, 1);
  put_number(&out, (uint64_t)envelope->base, 8);
  put_number(&out, envelope->place, 4);
  put_runs(&out, envelope, shares.map.runs);
  put_bitmap(&out, envelope, &shares.map);
  put_attempts(&out, envelope, shares.attempts);
  if (shares.crash_section) put_crashes(&out, envelope, shares.crashes);
  put_user(&out, envelope);
  put_checksum(&out);
  if (out.full || prefix + (out.size * 4 + 2) / 3 > PK_ENVELOPE_MAX) return PK_ENVELOPE_TOO_LARGE;
  memcpy(text, PK_PREFIX, prefix);
  *size = prefix + pk_base64_encode(out.bytes, out.size, text + prefix);
  if (left_out) *left_out = left_out_by(envelope, &shares);
  return PK_ENVELOPE_OK;
}
