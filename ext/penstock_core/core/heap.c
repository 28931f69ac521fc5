#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "heap.h"

#include <stdlib.h>

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
#define PK_FILLS
#endif
#endif

#ifdef PK_FILLS
#include <malloc.h>
#include <stdint.h>
#include <unistd.h>

/* Below malloc's mmap threshold, so that the threshold doesn't change. */
#define LARGEST (120 * 1024)
#define PAGE 4096
#define SMALLEST 24
#define STEP 16

/* A chain through all allocated pieces: leak checkers don't report them as
 * lost. */
struct piece {
  struct piece *next;
};
static struct piece *filled;

/* Allocates every free piece that this size fits into, except memory at the end
 * of the heap, where it grows. Never more than `left`: another malloc may
 * replace glibc's. */
static size_t take(struct piece **chain, size_t size, uintptr_t end, size_t left) {
  size_t taken = 0;

  while (taken + size <= left) {
    struct piece *piece = malloc(size);

    if (!piece) break;
    if ((uintptr_t)piece >= end) {
      free(piece);
      break;
    }
    piece->next = *chain;
    *chain = piece;
    taken += size;
  }
  return taken;
}

static void give_back(struct piece *chain) {
  while (chain) {
    struct piece *next = chain->next;

    free(chain);
    chain = next;
  }
}

size_t pk_heap_fill(void) {
  struct piece *large = NULL;
  struct mallinfo2 info;
  uintptr_t end;
  size_t held = 0, taken = 0;

  malloc_trim(0);
  info = mallinfo2();
  end = (uintptr_t)sbrk(0) - info.keepcost;
  for (size_t size = LARGEST; size >= PAGE; size /= 2) held += take(&large, size, end, info.fordblks - held);
  for (size_t size = PAGE - 8; size >= SMALLEST; size -= STEP)
    taken += take(&filled, size, end, info.fordblks - held - taken);
  give_back(large);
  malloc_trim(0);
  return taken;
}
#else
size_t pk_heap_fill(void) { return 0; }
#endif
