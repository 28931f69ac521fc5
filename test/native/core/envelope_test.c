#include "check.h"
#include "crc32c.h"
#include "envelope_format.h"

static void crc_is_castagnolis(void) {
  CHECK(pk_crc32c(0, "123456789", 9) == 0xe3069283u); /* the standard's check value */
  CHECK(pk_crc32c(pk_crc32c(0, "1234", 4), "56789", 5) == 0xe3069283u);
  CHECK(pk_crc32c(0, "", 0) == 0);
}

static void base64_round_trips_and_is_strict(void) {
  uint8_t bytes[64], back[64];
  char text[100];

  for (size_t size = 0; size <= sizeof bytes; size++) {
    size_t length;

    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)random_below(256);
    length = pk_base64_encode(bytes, size, text);
    CHECK(length == (size * 4 + 2) / 3);
    CHECK(pk_base64_decode(text, length, back) == (long)size);
    CHECK(memcmp(bytes, back, size) == 0);
  }
  CHECK(pk_base64_decode("A", 1, back) == -1);  /* six bits aren't a byte */
  CHECK(pk_base64_decode("AB", 2, back) == -1); /* bits left over */
  CHECK(pk_base64_decode("AA==", 4, back) == -1);
  CHECK(pk_base64_decode("A+", 2, back) == -1);
}

/* The text is in a block of exactly its size, so that the sanitizer detects a
 * read of one byte too many. */
static pk_envelope_status_t decode_exact(const char *text, size_t size, pk_decoded_t *decoded) {
  char *copy = malloc(size ? size : 1);
  pk_envelope_status_t status;

  memcpy(copy, text, size);
  status = pk_envelope_decode(copy, size, 42, pk_envelope_place("c", 1, "orders", 6), decoded);
  free(copy);
  return status;
}

static size_t sample(char *text) {
  static const pk_range_t ranges[] = {{44, 50}, {51, 52}, {60, 90}};
  static const pk_attempt_t attempts[] = {{42, 3}, {55, 1}};
  pk_envelope_t envelope = {.clean = true, .base = 42, .ranges = ranges, .range_count = 3};
  size_t size = 0;
  pk_left_out_t left_out;

  envelope.place = pk_envelope_place("c", 1, "orders", 6);
  envelope.attempts = attempts;
  envelope.attempt_count = 2;
  envelope.user = "mine";
  envelope.user_size = 4;
  CHECK(pk_envelope_encode(&envelope, text, &size, &left_out) == PK_ENVELOPE_OK);
  return size;
}

static void what_goes_in_comes_out(void) {
  char text[PK_ENVELOPE_MAX];
  size_t size = sample(text);
  pk_decoded_t decoded;
  pk_cursor_t cursor = {0};
  pk_range_t range;
  pk_attempt_t attempt;

  CHECK(decode_exact(text, size, &decoded) == PK_ENVELOPE_OK);
  CHECK(decoded.clean && decoded.base == 42);
  CHECK(decoded.user_size == 4 && memcmp(decoded.user, "mine", 4) == 0);
  CHECK(pk_envelope_next_range(&decoded, &cursor, &range) && range.from == 44 && range.to == 50);
  CHECK(pk_envelope_next_range(&decoded, &cursor, &range) && range.from == 51 && range.to == 52);
  CHECK(pk_envelope_next_range(&decoded, &cursor, &range) && range.from == 60 && range.to == 90);
  CHECK(!pk_envelope_next_range(&decoded, &cursor, &range));
  cursor = (pk_cursor_t){0};
  CHECK(pk_envelope_next_attempt(&decoded, &cursor, &attempt) && attempt.offset == 42 && attempt.count == 3);
  CHECK(pk_envelope_next_attempt(&decoded, &cursor, &attempt) && attempt.offset == 55 && attempt.count == 1);
  CHECK(!pk_envelope_next_attempt(&decoded, &cursor, &attempt));
}

static void walk(const pk_decoded_t *decoded) {
  pk_cursor_t cursor = {0};
  pk_range_t range;
  pk_attempt_t attempt;

  int64_t last = decoded->base;

  while (pk_envelope_next_range(decoded, &cursor, &range)) {
    CHECK(range.from > last && range.to > range.from);
    last = range.to;
  }
  cursor = (pk_cursor_t){0};
  while (pk_envelope_next_attempt(decoded, &cursor, &attempt)) CHECK(attempt.offset >= decoded->base);
  cursor = (pk_cursor_t){0};
  while (pk_envelope_next_crash(decoded, &cursor, &attempt)) CHECK(attempt.offset >= decoded->base);
}

static void damage_never_counts(void) {
  char text[PK_ENVELOPE_MAX], damaged[PK_ENVELOPE_MAX];
  size_t size = sample(text);
  pk_decoded_t decoded;

  for (size_t cut = 0; cut < size; cut++) CHECK(decode_exact(text, cut, &decoded) != PK_ENVELOPE_OK);
  for (int round = 0; round < 50000; round++) {
    memcpy(damaged, text, size);
    damaged[random_below((unsigned)size)] ^= (char)(1 + random_below(255));
    CHECK(decode_exact(damaged, size, &decoded) != PK_ENVELOPE_OK);
  }
}

/* Random sections with a valid checksum: reading stays inside them, for any
 * lengths in them, and valid ones can be walked. */
static void claims_are_checked(void) {
  uint8_t binary[PK_HEAD_BYTES + 64 + PK_CHECKSUM_BYTES] = {0};
  char text[256] = PK_PREFIX;
  uint32_t place = pk_envelope_place("c", 1, "orders", 6), crc;
  pk_decoded_t decoded;
  int sound = 0;

  binary[8] = 42;
  for (int i = 0; i < 4; i++) binary[9 + i] = (uint8_t)(place >> (24 - 8 * i));
  for (int round = 0; round < 200000; round++) {
    size_t body = random_below(40), size = PK_HEAD_BYTES + body;

    for (size_t i = 0; i < body; i++) binary[PK_HEAD_BYTES + i] = (uint8_t)random_below(round % 2 ? 6 : 256);
    crc = pk_crc32c(pk_crc32c(0, PK_PREFIX, sizeof PK_PREFIX - 1), binary, size);
    for (int i = 0; i < 4; i++) binary[size + i] = (uint8_t)(crc >> (24 - 8 * i));
    size = sizeof PK_PREFIX - 1 + pk_base64_encode(binary, size + 4, text + sizeof PK_PREFIX - 1);
    if (decode_exact(text, size, &decoded) != PK_ENVELOPE_OK) continue;
    sound++;
    walk(&decoded);
  }
  CHECK(sound > 100);
}

/* A bitmap of more bits than there are offsets after the base. */
static void no_claim_reaches_beyond_the_last_offset(void) {
  uint8_t binary[PK_HEAD_BYTES + 5 + PK_CHECKSUM_BYTES] = {0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  static const uint8_t bitmap[] = {PK_SECTION_BITMAP, 0, 2, 1, 0xff};
  size_t size = PK_HEAD_BYTES + sizeof bitmap;
  char text[64] = PK_PREFIX;
  pk_decoded_t decoded;
  uint32_t crc;

  memcpy(binary + PK_HEAD_BYTES, bitmap, sizeof bitmap);
  crc = pk_crc32c(pk_crc32c(0, PK_PREFIX, sizeof PK_PREFIX - 1), binary, size);
  for (int i = 0; i < 4; i++) binary[size + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
  size = sizeof PK_PREFIX - 1 + pk_base64_encode(binary, size + 4, text + sizeof PK_PREFIX - 1);
  CHECK(decode_exact(text, size, &decoded) == PK_ENVELOPE_DAMAGED);
}

static void limits_hold(void) {
  static pk_range_t ranges[4000];
  static char user[PK_ENVELOPE_USER_MAX + 1];
  char text[PK_ENVELOPE_MAX];
  size_t size = 0;
  pk_left_out_t left_out;
  pk_envelope_t envelope = {.base = 0, .ranges = ranges, .user = user};

  for (int64_t i = 0; i < 4000; i++) ranges[i] = (pk_range_t){1000 * (i + 1), 1000 * (i + 1) + 1};
  for (envelope.range_count = 1; envelope.range_count <= 4000; envelope.range_count += 7) {
    CHECK(pk_envelope_encode(&envelope, text, &size, &left_out) == PK_ENVELOPE_OK && size <= PK_ENVELOPE_MAX);
    CHECK(left_out.offsets == 0 || size > PK_ENVELOPE_MAX - 8);
  }
  envelope.range_count = 4000;
  CHECK(pk_envelope_encode(&envelope, text, &size, &left_out) == PK_ENVELOPE_OK && left_out.offsets > 2000);
  envelope.range_count = 0;
  envelope.user_size = PK_ENVELOPE_USER_MAX;
  CHECK(pk_envelope_encode(&envelope, text, &size, &left_out) == PK_ENVELOPE_OK && size <= PK_ENVELOPE_MAX);
  envelope.user_size++;
  CHECK(pk_envelope_encode(&envelope, text, &size, &left_out) == PK_ENVELOPE_TOO_LARGE);
}

/* With any metadata: no byte outside it is read, and none of it is used. */
static void any_string_is_harmless(void) {
  static const char *const starts[] = {"", "pstk", PK_PREFIX, PK_PREFIX "AAAAAAAAAAAq", "pstk7:"};
  static char text[PK_ENVELOPE_MAX * 2];
  pk_decoded_t decoded;

  for (int round = 0; round < 100000; round++) {
    const char *start = starts[random_below(5)];
    size_t size = strlen(start) + random_below(round % 1000 ? 60 : PK_ENVELOPE_MAX * 2 - 32);

    memcpy(text, start, strlen(start));
    for (size_t i = strlen(start); i < size; i++) {
      text[i] = round % 2 ? (char)random_below(256) : "ABCDwxyz0189-_"[random_below(14)];
    }
    CHECK(decode_exact(text, size, &decoded) != PK_ENVELOPE_OK);
  }
}

int main(void) {
  any_string_is_harmless();
  crc_is_castagnolis();
  base64_round_trips_and_is_strict();
  what_goes_in_comes_out();
  damage_never_counts();
  claims_are_checked();
  no_claim_reaches_beyond_the_last_offset();
  limits_hold();
  return report();
}
