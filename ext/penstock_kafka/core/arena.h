#ifndef PK_ARENA_H
#define PK_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Memory of one batch: chunks of at most PK_CHUNK_BYTES that are filled from
 * front to back and freed together. A record that doesn't fit a chunk has one
 * of its own. Full-sized chunks are recycled through a pool of the process, of
 * at most PK_POOL_CHUNKS; a small batch gets a small chunk, so that a batch
 * kept because of one record holds little memory.
 *
 * An arena belongs to one thread at a time; the pool is shared and has no lock:
 * each of its slots is exchanged atomically, so after a fork at any moment it
 * is usable in the child. */

#define PK_CHUNK_BYTES ((size_t)256 * 1024)
#define PK_POOL_CHUNKS 16 /* x 256 KiB = 4 MiB */

typedef struct pk_chunk {
  struct pk_chunk *next;
  size_t size; /* bytes after the header */
  size_t used;
  char data[];
} pk_chunk_t;

typedef struct {
  pk_chunk_t *chunks; /* the one being filled is first */
  size_t bytes;       /* allocated, headers included */
  size_t expected;    /* announced and not requested yet */
} pk_arena_t;

/* Announces that about `bytes` more will be requested: sizes the next chunk. */
void pk_arena_expect(pk_arena_t *arena, size_t bytes);

/* `size` bytes without alignment; never NULL. */
char *pk_arena_alloc(pk_arena_t *arena, size_t size);

/* Frees everything and leaves an empty arena. */
void pk_arena_free(pk_arena_t *arena);

/* Bytes unused in the pool; for tests and metrics. */
size_t pk_arena_pooled_bytes(void);

/* malloc that ends the process with a message: the driver can't continue
 * without memory in the middle of a take, and neither can librdkafka. */
void *pk_malloc(size_t size);
void *pk_realloc(void *memory, size_t size);
char *pk_strdup(const char *string);

#endif
