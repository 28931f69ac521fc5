/* Free memory between used pieces is allocated, once; larger pieces, and used
 * ones, stay as they are. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "heap.h"

#define PIECES 20000
#define SMALL 100
#define BIG 60000

static char *pieces[PIECES];
/* volatile: compilers remove unused memory. */
static char *volatile big, *volatile behind;

/* Sanitizers have their own malloc, which isn't changed. */
#if defined(__SANITIZE_ADDRESS__)
#define OWN 1
#elif defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#define OWN (!__GLIBC_PREREQ(2, 33))
#else
#define OWN 1
#endif

static void make_holes(void) {
  for (int i = 0; i < PIECES; i++) {
    pieces[i] = malloc(SMALL);
    memset(pieces[i], i % 251, SMALL);
  }
  for (int i = 1; i < PIECES; i += 2) free(pieces[i]);
}

/* Where a hundred bytes are allocated now: not between the pieces that stayed. */
static int is_between(void) {
  char *volatile piece = malloc(SMALL);
  int between = (uintptr_t)piece > (uintptr_t)pieces[0] && (uintptr_t)piece < (uintptr_t)pieces[PIECES - 2];

  free(piece);
  return between;
}

static int is_whole(void) {
  for (int i = 0; i < PIECES; i += 2)
    for (int at = 0; at < SMALL; at++)
      if ((unsigned char)pieces[i][at] != i % 251) return 0;
  return 1;
}

int main(void) {
  size_t first;

  big = malloc(BIG);
  behind = malloc(SMALL);
  make_holes();
  free(big);
  first = pk_heap_fill();
  CHECK(is_whole());
  CHECK(OWN ? first == 0 : first >= (size_t)(PIECES / 2) * SMALL && first < (size_t)PIECES * SMALL);
  CHECK(OWN || !is_between());
  CHECK(pk_heap_fill() <= first / 10);
  big = malloc(BIG / 2);
  CHECK(OWN || (uintptr_t)big < (uintptr_t)behind);
  for (int i = 0; i < PIECES; i += 2) free(pieces[i]);
  free(big);
  free(behind);
  return report();
}
