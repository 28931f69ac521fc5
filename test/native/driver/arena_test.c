/* The arena: allocations never overlap, large records have a chunk of their
 * own, and the process's pool keeps at most 4 MiB. */
#include "arena.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void test_pieces_do_not_overlap(void) {
  pk_arena_t arena = {0};
  enum { PIECES = 3000 };
  char *pieces[PIECES];
  size_t sizes[PIECES];

  for (int i = 0; i < PIECES; i++) {
    sizes[i] = random_below(i % 100 == 0 ? 400000 : 700);
    pieces[i] = pk_arena_alloc(&arena, sizes[i]);
    memset(pieces[i], i & 0xff, sizes[i]);
  }
  for (int i = 0; i < PIECES; i++) {
    bool whole = true;

    for (size_t at = 0; at < sizes[i]; at++) whole = whole && (unsigned char)pieces[i][at] == (i & 0xff);
    if (!whole) CHECK(whole);
  }
  CHECK(arena.bytes > 0);
  pk_arena_free(&arena);
  CHECK(arena.bytes == 0 && arena.chunks == NULL);
}

static void test_a_small_batch_has_a_small_chunk(void) {
  pk_arena_t arena = {0};

  pk_arena_expect(&arena, 1000);
  for (int i = 0; i < 10; i++) pk_arena_alloc(&arena, 100);
  CHECK(arena.bytes == sizeof(pk_chunk_t) + 1000);
  pk_arena_alloc(&arena, 10);
  CHECK(arena.chunks->next != NULL);
  pk_arena_free(&arena);
}

static void test_a_large_record_does_not_end_the_chunk_being_filled(void) {
  pk_arena_t arena = {0};
  pk_chunk_t *filled;

  pk_arena_expect(&arena, 100000);
  pk_arena_alloc(&arena, 10);
  filled = arena.chunks;
  pk_arena_alloc(&arena, 2 * PK_CHUNK_BYTES);
  CHECK(arena.chunks == filled);
  pk_arena_alloc(&arena, 10);
  CHECK(arena.chunks == filled && filled->used == 20);
  pk_arena_free(&arena);
}

static void fill(pk_arena_t *arena, int chunks) {
  for (int i = 0; i < chunks; i++) {
    pk_arena_expect(arena, PK_CHUNK_BYTES);
    pk_arena_alloc(arena, PK_CHUNK_BYTES - sizeof(pk_chunk_t));
  }
}

static void test_the_pool_keeps_four_megabytes(void) {
  pk_arena_t arena = {0};

  fill(&arena, 2 * PK_POOL_CHUNKS);
  pk_arena_free(&arena);
  CHECK(pk_arena_pooled_bytes() == (size_t)4 * 1024 * 1024);
  fill(&arena, 1);
  CHECK(pk_arena_pooled_bytes() == (size_t)4 * 1024 * 1024 - PK_CHUNK_BYTES);
  pk_arena_free(&arena);
}

static void *churn(void *ptr) {
  long id = (long)ptr;
  long wrong = 0;

  for (int round = 0; round < 300; round++) {
    pk_arena_t arena = {0};

    fill(&arena, 3);
    for (pk_chunk_t *chunk = arena.chunks; chunk; chunk = chunk->next) memset(chunk->data, (int)id, 1000);
    for (pk_chunk_t *chunk = arena.chunks; chunk; chunk = chunk->next) wrong += chunk->data[999] != (char)id;
    pk_arena_free(&arena);
  }
  return (void *)wrong;
}

static void test_threads_share_the_pool(void) {
  pthread_t threads[4];
  long wrong = 0;

  for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
  for (int i = 0; i < 4; i++) {
    void *result;

    pthread_join(threads[i], &result);
    wrong += (long)result;
  }
  CHECK(wrong == 0);
  CHECK(pk_arena_pooled_bytes() <= (size_t)4 * 1024 * 1024);
}

int main(void) {
  test_pieces_do_not_overlap();
  test_a_small_batch_has_a_small_chunk();
  test_a_large_record_does_not_end_the_chunk_being_filled();
  test_the_pool_keeps_four_megabytes();
  test_threads_share_the_pool();
  return report();
}
