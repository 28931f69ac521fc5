/* What Penstock writes into the metadata of an offset commit, without Ruby.
 *
 * A commit says "everything below base is done". The envelope says what else is:
 * whether the owner before ended cleanly, which records above base are complete,
 * how often a record was tried. It carries the user's own metadata string along.
 *
 * Text, for brokers and tools take metadata for a string:
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
 *      the end of the run before, from base for the first; both at least 1
 *   2  completed, bitmap: varint (first offset - base), then bits, lowest first.
 *      With both, what either says is complete
 *   3  attempts: pairs of varints (offset - end of the one before, count), where
 *      the end of an offset is the one after it; from base for the first
 *   4  crashes: a varint, how many owners in a row took over from one that didn't
 *      end cleanly; then pairs as in 3, how often a record was alone when its
 *      process died
 *   9  the user's metadata
 *
 * A reader skips types below 128 that it doesn't know; 128 and above mean that it
 * can't understand the rest. varint: 7 bits a byte, lowest first, high bit: more.
 *
 * No function allocates or keeps state. */
#ifndef PK_CORE_ENVELOPE_H
#define PK_CORE_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PK_ENVELOPE_VERSION 1
#define PK_ENVELOPE_MAX 4096      /* a broker's offset.metadata.max.bytes unless configured */
#define PK_ENVELOPE_BYTES 3072    /* more binary than fits the text */
#define PK_ENVELOPE_USER_MAX 2048 /* the user's share; the rest is ours */

typedef enum {
  PK_ENVELOPE_OK = 0,
  PK_ENVELOPE_FOREIGN,   /* not ours: some other tool's or user's string */
  PK_ENVELOPE_NEWER,     /* ours, of a version or with a section not known here */
  PK_ENVELOPE_DAMAGED,   /* ours, but cut, changed or impossible */
  PK_ENVELOPE_MOVED,     /* ours and whole, but committed with another offset */
  PK_ENVELOPE_ELSEWHERE, /* ours and whole, but of another topic or cluster */
  PK_ENVELOPE_TOO_LARGE  /* encode only: the user's metadata is */
} pk_envelope_status_t;

typedef struct {
  int64_t from, to; /* complete: from up to, not including, to */
} pk_range_t;

typedef struct {
  int64_t offset;
  uint32_t count;
} pk_attempt_t;

/* What is encoded. Ranges, attempts and crashes ascend and lie above base. */
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
  const char *user; /* NULL: none, which isn't the same as an empty one */
  size_t user_size;
  size_t budget; /* bytes of text; 0: PK_ENVELOPE_MAX */
} pk_envelope_t;

/* What there was no room for: a later owner does it again, or counts anew. */
typedef struct {
  uint64_t offsets;
  size_t attempts, crashes;
} pk_left_out_t;

/* What was decoded. Pointers lead into `bytes`; ranges and attempts are walked. */
typedef struct {
  bool clean;
  int64_t base;
  uint32_t unclean;
  const uint8_t *runs, *bitmap, *attempts, *crashes, *user;
  size_t runs_size, bitmap_size, attempts_size, crashes_size, user_size;
  uint8_t bytes[PK_ENVELOPE_BYTES + 3];
} pk_decoded_t;

uint32_t pk_envelope_place(const char *cluster, size_t cluster_size, const char *topic, size_t topic_size);

/* Writes at most PK_ENVELOPE_MAX bytes and their number; no NUL. Never fails for
 * want of room, but leaves out: the user's metadata always goes in, then crashes,
 * then completed records, then attempts, each as far as it fits. What is left out
 * of the completed ones makes records run again, and never makes one count that
 * isn't complete. */
pk_envelope_status_t pk_envelope_encode(const pk_envelope_t *envelope, char *text, size_t *size,
                                        pk_left_out_t *left_out);

/* With OK everything in decoded counts; with MOVED and ELSEWHERE only the user's
 * metadata does; else nothing. */
pk_envelope_status_t pk_envelope_decode(const char *text, size_t size, int64_t base, uint32_t place,
                                        pk_decoded_t *decoded);

/* Walks what decode found valid: begin with a zeroed cursor, ends with false. */
typedef struct {
  size_t at, bit;
  int64_t offset;
  pk_range_t run, bits; /* read, but not yet given: empty when there is none */
} pk_cursor_t;

/* Ascending and not touching, whichever section they come from. */
bool pk_envelope_next_range(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_range_t *range);
bool pk_envelope_next_attempt(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_attempt_t *attempt);
bool pk_envelope_next_crash(const pk_decoded_t *decoded, pk_cursor_t *cursor, pk_attempt_t *crash);

#endif
