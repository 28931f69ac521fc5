#include "arena.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PK_CHUNK_DATA (PK_CHUNK_BYTES - sizeof(pk_chunk_t))
/* Smaller chunks get exactly the required size; from here on a full one is
 * worth it. */
#define PK_SMALL_BYTES ((size_t)64 * 1024)

static _Atomic(pk_chunk_t *) pk_pool[PK_POOL_CHUNKS];

static void *pk_checked(void *memory, size_t size) {
  if (memory || size == 0) return memory;
  fprintf(stderr, "penstock: out of memory (%zu bytes)\n", size);
  abort();
}

void *pk_malloc(size_t size) {
  return pk_checked(malloc(size), size);
}

void *pk_realloc(void *memory, size_t size) {
  return pk_checked(realloc(memory, size), size);
}

char *pk_strdup(const char *string) {
  size_t size = strlen(string) + 1;

  return memcpy(pk_malloc(size), string, size);
}

static pk_chunk_t *pk_pool_get(void) {
  for (int i = 0; i < PK_POOL_CHUNKS; i++) {
    pk_chunk_t *chunk;

    if (!atomic_load_explicit(&pk_pool[i], memory_order_relaxed)) continue;
    if ((chunk = atomic_exchange(&pk_pool[i], NULL))) return chunk;
  }
  return NULL;
}

static void pk_pool_put(pk_chunk_t *chunk) {
  for (int i = 0; i < PK_POOL_CHUNKS; i++) {
    pk_chunk_t *none = NULL;

    if (atomic_load_explicit(&pk_pool[i], memory_order_relaxed)) continue;
    if (atomic_compare_exchange_strong(&pk_pool[i], &none, chunk)) return;
  }
  free(chunk);
}

size_t pk_arena_pooled_bytes(void) {
  size_t bytes = 0;

  for (int i = 0; i < PK_POOL_CHUNKS; i++) {
    if (atomic_load(&pk_pool[i])) bytes += PK_CHUNK_BYTES;
  }
  return bytes;
}

static pk_chunk_t *pk_chunk_new(size_t size) {
  pk_chunk_t *chunk = size == PK_CHUNK_DATA ? pk_pool_get() : NULL;

  if (!chunk) chunk = pk_malloc(sizeof *chunk + size);
  chunk->next = NULL;
  chunk->size = size;
  chunk->used = 0;
  return chunk;
}

static void pk_chunk_free(pk_chunk_t *chunk) {
  if (chunk->size == PK_CHUNK_DATA) {
    pk_pool_put(chunk);
  } else {
    free(chunk);
  }
}

/* Bytes of a new chunk for a request of at most PK_CHUNK_DATA: as many as were
 * announced, or as many as are allocated already (headers aren't in the estimate). */
static size_t pk_chunk_size(const pk_arena_t *arena, size_t size) {
  size_t wanted = arena->expected ? arena->expected : arena->bytes;

  if (wanted < size) wanted = size;
  return wanted < PK_SMALL_BYTES ? wanted : PK_CHUNK_DATA;
}

/* A chunk for one large record is inserted after the one being filled, which
 * stays first. */
static pk_chunk_t *pk_arena_grow(pk_arena_t *arena, size_t size) {
  int large = size > PK_CHUNK_DATA;
  pk_chunk_t *chunk = pk_chunk_new(large ? size : pk_chunk_size(arena, size));

  if (large && arena->chunks) {
    chunk->next = arena->chunks->next;
    arena->chunks->next = chunk;
  } else {
    chunk->next = arena->chunks;
    arena->chunks = chunk;
  }
  arena->bytes += sizeof *chunk + chunk->size;
  return chunk;
}

void pk_arena_expect(pk_arena_t *arena, size_t bytes) {
  arena->expected = bytes;
}

char *pk_arena_alloc(pk_arena_t *arena, size_t size) {
  pk_chunk_t *chunk = arena->chunks;
  char *memory;

  if (!chunk || chunk->size - chunk->used < size) chunk = pk_arena_grow(arena, size);
  memory = chunk->data + chunk->used;
  chunk->used += size;
  arena->expected = arena->expected > size ? arena->expected - size : 0;
  return memory;
}

void pk_arena_free(pk_arena_t *arena) {
  pk_chunk_t *chunk = arena->chunks;

  while (chunk) {
    pk_chunk_t *next = chunk->next;

    pk_chunk_free(chunk);
    chunk = next;
  }
  arena->chunks = NULL;
  arena->bytes = 0;
  arena->expected = 0;
}
