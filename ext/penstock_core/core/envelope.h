/* Encodes what Penstock writes into the metadata of an offset commit, without
 * Ruby.
 *
 * A commit means "everything below base is complete". The envelope adds whether
 * the previous owner ended cleanly, which records above base are complete, and
 * how often records were tried. It also contains the user's metadata string.
 *
 * Text, because brokers and tools treat metadata as a string:
 *
 *   "pstk" version ":" base64url(binary), no padding, at most 4,096 bytes
 *
 * Version 1, binary, numbers big-endian:
 *
 *   1  flags         bit 0: clean. The others are 0 and ignored.
 *   8  base          the offset it was committed with
 *   4  place         CRC-32C of cluster id, a NUL byte, topic
 *   n  sections      each: 1 type, 2 size, size bytes
 *   4  checksum      CRC-32C of the text up to the colon and of all above
 *
 * Sections, each at most once, in ascending order:
 *
 *   1  completed, run-length: pairs of varints (gap, length), gap counted from
 *      the end of the previous run, or from base for the first; both at least 1
 *   2  completed, bitmap: varint (first offset - base), then bits, lowest first.
 *      With both sections, an offset in either is complete
 *   3  attempts: pairs of varints (offset - end of the previous one, count), where
 *      the end of an offset is the next offset; from base for the first
 *   4  crashes: a varint, how many owners in a row took over from one that didn't
 *      end cleanly; then pairs as in 3, how often a record was running alone when
 *      its process died
 *   9  the user's metadata
 *
 * A reader skips unknown types below 128; an unknown type from 128 on means
 * that it can't understand the rest. varint: 7 bits a byte, lowest first, high
 * bit: more.
 *
 * No function allocates memory or keeps state. */
#ifndef PK_CORE_ENVELOPE_H
#define PK_CORE_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PK_ENVELOPE_VERSION 1
#define PK_ENVELOPE_MAX 4096      /* default of the broker's offset.metadata.max.bytes */
#define PK_ENVELOPE_BYTES 3072    /* more binary than fits the text */
#define PK_ENVELOPE_USER_MAX 2048 /* the user's share */

typedef enum {
  PK_ENVELOPE_OK = 0,
  PK_ENVELOPE_FOREIGN,   /* not an envelope: a string of the user or another tool */
  PK_ENVELOPE_NEWER,     /* an envelope of an unknown version or with an unknown section */
  PK_ENVELOPE_DAMAGED,   /* an envelope, but cut, changed or invalid */
  PK_ENVELOPE_MOVED,     /* a valid envelope, but committed with another offset */
  PK_ENVELOPE_ELSEWHERE, /* a valid envelope, but of another topic or cluster */
  PK_ENVELOPE_TOO_LARGE  /* encode only: the user's metadata is too large */
} pk_envelope_status_t;

typedef struct {
  int64_t from, to; /* complete: from up to, not including, to */
} pk_range_t;

typedef struct {
  int64_t offset;
  uint32_t count;
} pk_attempt_t;

/* Input of the encoder. Ranges, attempts and crashes ascend and are above base. */
typedef struct {
  bool clean;
  int64_t base;
  uint32_t place;
  const pk_range_t *ranges;
  size_t range_count;
  const pk_attempt_t *attempts;
  size_t attempt_count;
  uint32_t unclean;
  const pk_attempt_t *crashes;
  size_t crash_count;
  const char *user; /* NULL: none, which differs from an empty one */
  size_t user_size;
  size_t budget; /* bytes of text; 0: PK_ENVELOPE_MAX */
} pk_envelope_t;

/* What didn't fit: the next owner runs these records again, or counts from
 * zero. */
typedef struct {
  uint64_t offsets;
  size_t attempts, crashes;
} pk_left_out_t;

/* Output of the decoder. Pointers point into `bytes`; ranges and attempts are
 * walked. */
typedef struct {
  bool clean;
  int64_t base;
  uint32_t unclean;
  const uint8_t *runs, *bitmap, *attempts, *crashes, *user;
  size_t runs_size, bitmap_size, attempts_size, crashes_size, user_size;
  uint8_t bytes[PK_ENVELOPE_BYTES + 3];
} pk_decoded_t;

uint32_t pk_envelope_place(const char *cluster, size_t cluster_size, const char *topic, size_t topic_size);

/* Writes at most PK_ENVELOPE_MAX bytes and their number; no NUL. Never fails
 * because of the size, but leaves parts out: the user's metadata is always
 * written, then crashes, then completed records, then attempts, each as far as
 * it fits. Completed records that are left out run again; an incomplete record
 * is never written as complete. */
pk_envelope_status_t pk_envelope_encode(const pk_envelope_t *envelope, char *text, size_t *size,
                                        pk_left_out_t *left_out);

/* With OK all of decoded is valid; with MOVED and ELSEWHERE only the user's
 * metadata; otherwise nothing. */
pk_envelope_status_t pk_envelope_decode(const char *text, size_t size, int64_t base, uint32_t place,
                                        pk_decoded_t *decoded);

/* Walks what decode found valid: start with a zeroed cursor; returns false at
 * the end. */
typedef struct {
  size_t at, bit;
  int64_t offset;
  pk_range_t run, bits; /* read, but not returned yet: empty if there is none */
} pk_cursor_t;

/* Ascending and not touching, regardless of the section. */
bool pk_envelope_next_range(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_range_t *range);
bool pk_envelope_next_attempt(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_attempt_t *attempt);
bool pk_envelope_next_crash(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_attempt_t *crash);

#endif
