#include "envelope_format.h"

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

size_t pk_base64_encode(const uint8_t *bytes, size_t size, char *text) {
  uint32_t bits = 0;
  size_t count = 0;
  int held = 0;

  for (size_t i = 0; i < size; i++) {
    bits = (bits << 8) | bytes[i];
    for (held += 8; held >= 6; held -= 6) text[count++] = ALPHABET[(bits >> (held - 6)) & 63];
  }
  if (held) text[count++] = ALPHABET[(bits << (6 - held)) & 63];
  return count;
}

static int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  return c == '_' ? 63 : -1;
}

/* Unused bits must be 0, so that every byte string has exactly one text. */
long pk_base64_decode(const char *text, size_t size, uint8_t *bytes) {
  uint32_t bits = 0;
  long count = 0;
  int held = 0;

  for (size_t i = 0; i < size; i++) {
    int value = digit(text[i]);

    if (value < 0) return -1;
    bits = (bits << 6) | (uint32_t)value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[count++] = (uint8_t)(bits >> held);
  }
  return held >= 6 || (bits & ((1u << held) - 1)) ? -1 : count;
}
