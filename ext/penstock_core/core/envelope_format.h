/* What encoder and decoder of the envelope agree on. */
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
  PK_SECTION_USER = 9,
  PK_SECTION_MUST = 128
};

/* base64url without padding. Encode needs room for (size * 4 + 2) / 3; decode
 * for size * 3 / 4 and answers -1 for anything encode would not have written. */
size_t pk_base64_encode(const uint8_t *bytes, size_t size, char *text);
long pk_base64_decode(const char *text, size_t size, uint8_t *bytes);

#endif
