/* Helpers of the C unit tests. A failed check prints its place and continues;
 * the program then ends with 1. */
#ifndef PK_TEST_CHECK_H
#define PK_TEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed, checks;

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    checks++;                                                                                                          \
    if (!(condition)) failed++, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
  } while (0)

static int report(void) {
  printf("%d checks, %d failed\n", checks, failed);
  return failed != 0;
}

/* Reproducible, the same everywhere. */
static unsigned long long random_state = 88172645463325252ULL;

__attribute__((unused)) static unsigned random_below(unsigned limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)(random_state % limit);
}

#endif
