#include <string.h>

#include "crc32c.h"
#include "envelope_format.h"

static uint64_t number_at(const uint8_t *bytes, size_t size) {
  uint64_t value = 0;

  for (size_t i = 0; i < size; i++) value = (value << 8) | bytes[i];
  return value;
}

/* Values up to INT64_MAX in their shortest form; false if it is cut off, longer
 * or larger. */
static bool take_varint(const uint8_t *bytes, size_t size, size_t *at, uint64_t *value) {
  *value = 0;
  for (int shift = 0; shift < 63 && *at < size; shift += 7) {
    uint8_t byte = bytes[(*at)++];

    *value |= (uint64_t)(byte & 127) << shift;
    if (byte & 128) continue;
    return byte || shift == 0;
  }
  return false;
}

/* Adds without overflow. */
static bool forward(int64_t *offset, uint64_t distance) {
  if (distance > (uint64_t)(INT64_MAX - *offset)) return false;
  *offset += (int64_t)distance;
  return true;
}

/* -- walking: the completed records ----------------------------------------- */

static bool take_run(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_range_t *range) {
  uint64_t gap, length;

  if (!take_varint(decoded->runs, decoded->runs_size, &cursor->at, &gap) || !gap) return false;
  if (!take_varint(decoded->runs, decoded->runs_size, &cursor->at, &length) || !length) return false;
  range->from = cursor->offset;
  if (!forward(&range->from, gap)) return false;
  range->to = range->from;
  if (!forward(&range->to, length)) return false;
  cursor->offset = range->to;
  return true;
}

static bool bit_at(const pk_decoded_t *decoded, size_t start, size_t bit) {
  return decoded->bitmap[start + bit / 8] & (1u << (bit % 8));
}

/* The varint before the bits is read again each time. */
static bool take_bits(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_range_t *range) {
  size_t start = 0, bits;
  uint64_t first;

  if (!take_varint(decoded->bitmap, decoded->bitmap_size, &start, &first)) return false;
  bits = (decoded->bitmap_size - start) * 8;
  while (cursor->bit < bits && !bit_at(decoded, start, cursor->bit)) cursor->bit++;
  if (cursor->bit >= bits) return false;
  range->from = decoded->base + (int64_t)first + (int64_t)cursor->bit;
  while (cursor->bit < bits && bit_at(decoded, start, cursor->bit)) cursor->bit++;
  range->to = decoded->base + (int64_t)first + (int64_t)cursor->bit;
  return true;
}

static bool is_empty(const pk_range_t *range) {
  return range->from == range->to;
}

static void refill(const pk_decoded_t *decoded, pk_cursor_t *cursor) {
  if (!cursor->at) cursor->offset = decoded->base;
  if (is_empty(&cursor->run) && cursor->at < decoded->runs_size && !take_run(decoded, cursor, &cursor->run)) {
    cursor->run = (pk_range_t){0, 0};
  }
  if (is_empty(&cursor->bits) && decoded->bitmap && !take_bits(decoded, cursor, &cursor->bits)) {
    cursor->bits = (pk_range_t){0, 0};
  }
}

/* Returns the range that begins first, and empties it. */
static pk_range_t lower(pk_cursor_t *cursor) {
  bool bits = is_empty(&cursor->run) || (!is_empty(&cursor->bits) && cursor->bits.from < cursor->run.from);
  pk_range_t *source = bits ? &cursor->bits : &cursor->run, range = *source;

  *source = (pk_range_t){0, 0};
  return range;
}

static bool goes_on(const pk_range_t *next, const pk_range_t *range) {
  return !is_empty(next) && next->from <= range->to;
}

bool pk_envelope_next_range(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_range_t *range) {
  refill(decoded, cursor);
  if (is_empty(&cursor->run) && is_empty(&cursor->bits)) return false;
  *range = lower(cursor);
  for (refill(decoded, cursor); goes_on(&cursor->run, range) || goes_on(&cursor->bits, range); refill(decoded, cursor)) {
    pk_range_t next = lower(cursor);

    if (next.to > range->to) range->to = next.to;
  }
  return true;
}

/* -- walking: records with a count ------------------------------------------ */

static bool take_count(const uint8_t *bytes, size_t size, pk_cursor_t *cursor, pk_attempt_t *attempt) {
  uint64_t gap, count;

  if (!take_varint(bytes, size, &cursor->at, &gap)) return false;
  if (!take_varint(bytes, size, &cursor->at, &count) || count > UINT32_MAX) return false;
  attempt->offset = cursor->offset;
  if (!forward(&attempt->offset, gap) || attempt->offset == INT64_MAX) return false;
  attempt->count = (uint32_t)count;
  cursor->offset = attempt->offset + 1;
  return true;
}

bool pk_envelope_next_attempt(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_attempt_t *attempt) {
  if (!cursor->at) cursor->offset = decoded->base;
  return cursor->at < decoded->attempts_size && take_count(decoded->attempts, decoded->attempts_size, cursor, attempt);
}

/* The number of unclean owners comes before them. */
bool pk_envelope_next_crash(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_attempt_t *crash) {
  uint64_t unclean;

  if (!cursor->at) {
    cursor->offset = decoded->base;
    if (!take_varint(decoded->crashes, decoded->crashes_size, &cursor->at, &unclean)) return false;
  }
  return cursor->at < decoded->crashes_size && take_count(decoded->crashes, decoded->crashes_size, cursor, crash);
}

/* -- checking --------------------------------------------------------------- */

static bool runs_are_sound(const pk_decoded_t *decoded) {
  pk_cursor_t cursor = {.offset = decoded->base};
  pk_range_t range;

  while (cursor.at < decoded->runs_size) {
    if (!take_run(decoded, &cursor, &range)) return false;
  }
  return true;
}

static bool bitmap_is_sound(const pk_decoded_t *decoded) {
  size_t start = 0;
  uint64_t first, bits, left = (uint64_t)(INT64_MAX - decoded->base);

  if (!take_varint(decoded->bitmap, decoded->bitmap_size, &start, &first) || !first) return false;
  bits = (decoded->bitmap_size - start) * 8;
  return bits && bits <= left && first <= left - bits;
}

static bool attempts_are_sound(const pk_decoded_t *decoded) {
  pk_cursor_t cursor = {0};
  pk_attempt_t attempt;

  while (cursor.at < decoded->attempts_size) {
    if (!pk_envelope_next_attempt(decoded, &cursor, &attempt)) return false;
  }
  return true;
}

static bool crashes_are_sound(pk_decoded_t *decoded) {
  pk_cursor_t cursor = {.offset = decoded->base};
  pk_attempt_t crash;
  uint64_t unclean;

  if (!take_varint(decoded->crashes, decoded->crashes_size, &cursor.at, &unclean) || unclean > UINT32_MAX) return false;
  decoded->unclean = (uint32_t)unclean;
  while (cursor.at < decoded->crashes_size) {
    if (!take_count(decoded->crashes, decoded->crashes_size, &cursor, &crash)) return false;
  }
  return true;
}

static bool is_sound(pk_decoded_t *decoded) {
  if (decoded->runs && !runs_are_sound(decoded)) return false;
  if (decoded->bitmap && !bitmap_is_sound(decoded)) return false;
  if (decoded->crashes && !crashes_are_sound(decoded)) return false;
  return !decoded->attempts || attempts_are_sound(decoded);
}

static void keep_section(pk_decoded_t *decoded, int type, const uint8_t *bytes, size_t size) {
  switch (type) {
  case PK_SECTION_RUNS:
    decoded->runs = bytes, decoded->runs_size = size;
    break;
  case PK_SECTION_BITMAP:
    decoded->bitmap = bytes, decoded->bitmap_size = size;
    break;
  case PK_SECTION_ATTEMPTS:
    decoded->attempts = bytes, decoded->attempts_size = size;
    break;
  case PK_SECTION_CRASHES:
    decoded->crashes = bytes, decoded->crashes_size = size;
    break;
  case PK_SECTION_USER:
    decoded->user = bytes, decoded->user_size = size;
    break;
  }
}

static pk_envelope_status_t take_sections(pk_decoded_t *decoded, const uint8_t *bytes, size_t size) {
  int last = 0;

  for (size_t at = 0; at < size;) {
    int type = bytes[at];
    size_t length;

    if (type <= last || size - at < PK_SECTION_HEAD_BYTES) return PK_ENVELOPE_DAMAGED;
    if (type >= PK_SECTION_MUST) return PK_ENVELOPE_NEWER;
    length = (size_t)number_at(bytes + at + 1, 2);
    at += PK_SECTION_HEAD_BYTES;
    if (length > size - at) return PK_ENVELOPE_DAMAGED;
    keep_section(decoded, type, bytes + at, length);
    at += length;
    last = type;
  }
  return PK_ENVELOPE_OK;
}

/* The text after the magic: digits, a colon. Returns the version, or -1. */
static long version_of(const char *text, size_t size, size_t *at) {
  long version = 0;

  for (*at = sizeof PK_MAGIC - 1; *at < size && text[*at] >= '0' && text[*at] <= '9'; (*at)++) {
    if (version < 1000) version = version * 10 + (text[*at] - '0');
  }
  if (*at == sizeof PK_MAGIC - 1 || *at >= size || text[(*at)++] != ':') return -1;
  return version;
}

static bool is_magic(const char *text, size_t size) {
  return size >= sizeof PK_MAGIC - 1 && memcmp(text, PK_MAGIC, sizeof PK_MAGIC - 1) == 0;
}

/* Decodes the binary into decoded->bytes, checks the checksum and removes it;
 * -1 if damaged. */
static long open_bytes(const char *text, size_t size, size_t prefix, pk_decoded_t *decoded) {
  long count;
  size_t body;
  uint32_t crc;

  if (size > PK_ENVELOPE_MAX) return -1;
  count = pk_base64_decode(text + prefix, size - prefix, decoded->bytes);
  if (count < PK_HEAD_BYTES + PK_CHECKSUM_BYTES) return -1;
  body = (size_t)count - PK_CHECKSUM_BYTES;
  crc = pk_crc32c(pk_crc32c(0, text, prefix), decoded->bytes, body);
  return crc == number_at(decoded->bytes + body, PK_CHECKSUM_BYTES) ? (long)body : -1;
}

pk_envelope_status_t pk_envelope_decode(const char *text, size_t size, int64_t base, uint32_t place,
                                        pk_decoded_t *decoded) {
  pk_envelope_status_t status;
  size_t prefix;
  long version, body;

  memset(decoded, 0, offsetof(pk_decoded_t, bytes));
  if (!is_magic(text, size)) return PK_ENVELOPE_FOREIGN;
  version = version_of(text, size, &prefix);
  if (version < 1) return PK_ENVELOPE_FOREIGN;
  if (version > PK_ENVELOPE_VERSION) return PK_ENVELOPE_NEWER;
  body = open_bytes(text, size, prefix, decoded);
  if (body < 0) return PK_ENVELOPE_DAMAGED;
  decoded->clean = decoded->bytes[0] & PK_FLAG_CLEAN;
  decoded->base = (int64_t)number_at(decoded->bytes + 1, 8);
  if (decoded->base < 0) return PK_ENVELOPE_DAMAGED;
  status = take_sections(decoded, decoded->bytes + PK_HEAD_BYTES, (size_t)body - PK_HEAD_BYTES);
  if (status != PK_ENVELOPE_OK) return status;
  if (!is_sound(decoded)) return PK_ENVELOPE_DAMAGED;
  if (number_at(decoded->bytes + 9, 4) != place) return PK_ENVELOPE_ELSEWHERE;
  return decoded->base == base ? PK_ENVELOPE_OK : PK_ENVELOPE_MOVED;
}
