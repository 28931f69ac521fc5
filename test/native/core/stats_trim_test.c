#include "check.h"
#include "stats_trim.h"

static bool all(void *context, const char *topic, size_t topic_size, int32_t partition) {
  (void)topic, (void)topic_size, (void)partition;
  return context == NULL;
}

/* Input and output are in blocks of exactly the input's size. */
static long trim_exact(const char *json, size_t size, char **out) {
  char *copy = malloc(size ? size : 1);
  long result;

  *out = malloc(size ? size : 1);
  memcpy(copy, json, size);
  result = pk_stats_trim(copy, size, all, NULL, *out);
  free(copy);
  return result;
}

static void check_trim(const char *json, const char *expected) {
  char *out;
  long size = trim_exact(json, strlen(json), &out);

  CHECK(size == (long)strlen(expected) && memcmp(out, expected, (size_t)size) == 0);
  free(out);
}

static void it_copies_and_drops(void) {
  check_trim("{}", "{}");
  check_trim(" { \"a\" : 1 , \"b\" : [1,2] , \"c\" : -1.5e3 } ", "{\"a\":1,\"c\":-1.5e3}");
  check_trim("{\"brokers\":{\"b\":{\"req\":{\"x\":1},\"state\":\"UP\"}}}", "{\"brokers\":{\"b\":{\"state\":\"UP\"}}}");
  check_trim("{\"topics\":{\"t\":{\"partitions\":{\"-1\":{},\"3\":{\"hi_offset\":9,\"desired\":true}}}}}",
             "{\"topics\":{\"t\":{\"partitions\":{\"3\":{\"hi_offset\":9}}}}}");
  check_trim("{\"topics\":{\"t\":{\"partitions\":{}}}}", "{\"topics\":{}}");
}

static char *slurp(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *bytes = malloc(1 << 20);

  if (!file) return free(bytes), NULL;
  *size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static void damage_stays_inside(const char *json, size_t size) {
  char *damaged = malloc(size), *out;

  for (size_t cut = 0; cut < size; cut += 3) {
    CHECK(trim_exact(json, cut, &out) == -1);
    free(out);
  }
  for (int round = 0; round < 5000; round++) {
    memcpy(damaged, json, size);
    for (unsigned i = random_below(4) + 1; i; i--) damaged[random_below((unsigned)size)] = (char)random_below(256);
    CHECK(trim_exact(damaged, size, &out) <= (long)size);
    free(out);
  }
  free(damaged);
}

int main(int count, char **words) {
  size_t size = 0;
  char *json = slurp(count > 1 ? words[1] : "", &size), *out;

  it_copies_and_drops();
  if (json) {
    CHECK(trim_exact(json, size, &out) > 0);
    free(out);
    damage_stays_inside(json, size);
  }
  free(json);
  return report();
}
