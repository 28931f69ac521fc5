/* The format that encoder and decoder of the envelope share. */
#ifndef PK_CORE_ENVELOPE_FORMAT_H
#define PK_CORE_ENVELOPE_FORMAT_H

#include "envelope.h"

#define PK_MAGIC "pstk"
#define PK_PREFIX PK_MAGIC "1:"
#define PK_FLAG_CLEAN 1
#define PK_HEAD_BYTES 13
#define PK_CHECKSUM_BYTES 4
#define PK_SECTION_HEAD_BYTES 3

enum {
  PK_SECTION_RUNS = 1,
  PK_SECTION_BITMAP = 2,
  PK_SECTION_ATTEMPTS = 3,
  PK_SECTION_CRASHES = 4,
  PK_SECTION_USER = 9,
  PK_SECTION_MUST = 128
};

/* Size of a value as a varint, in bytes. */
static inline size_t pk_varint_size(uint64_t value) {
  size_t size = 1;

  while (value >>= 7) size++;
  return size;
}

/* How the completed ranges are written: the first `runs` of them as runs, then
 * a bitmap of those that end within `bits` after the next one's first offset. */
typedef struct {
  size_t runs;
  uint64_t bits;    /* 0: no bitmap */
  uint64_t covered; /* offsets in the bitmap */
  size_t size;      /* bytes of both sections, with their heads */
} pk_map_plan_t;

/* The smallest plan that contains everything; if none fits, the one that
 * contains the most. */
pk_map_plan_t pk_map_plan(int64_t base, const pk_range_t *ranges, size_t count, size_t room);

/* base64url without padding. Encode needs (size * 4 + 2) / 3 bytes of space;
 * decode size * 3 / 4, and returns -1 for anything encode would not have
 * written. */
size_t pk_base64_encode(const uint8_t *bytes, size_t size, char *text);
long pk_base64_decode(const char *text, size_t size, uint8_t *bytes);

#endif
