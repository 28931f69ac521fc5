/* Data waiting to be written in one direction: chunks in their order, each with the time before which it must not be written. */
#include "proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK_BYTES (64 * 1024)
#define VECTORS 32

static struct chunk *chunk_new(size_t room, int64_t due_us) {
  struct chunk *chunk = malloc(sizeof *chunk + room);

  if (!chunk) die("malloc");
  *chunk = (struct chunk){.due_us = due_us, .room = room};
  return chunk;
}

static void append(struct queue *queue, struct chunk *chunk) {
  if (queue->last) queue->last->next = chunk;
  else queue->first = chunk;
  queue->last = chunk;
}

/* Small pieces share a chunk when they are due together. */
void queue_add(struct queue *queue, const uint8_t *bytes, size_t size, int64_t due_us) {
  struct chunk *last = queue->last;

  if (due_us < queue->due_us) due_us = queue->due_us;
  queue->due_us = due_us;
  queue->bytes += size;
  if (last && last->due_us == due_us && last->room - last->size >= size) {
    memcpy(last->bytes + last->size, bytes, size);
    last->size += size;
    return;
  }
  last = chunk_new(size > CHUNK_BYTES ? size : CHUNK_BYTES, due_us);
  memcpy(last->bytes, bytes, size);
  last->size = size;
  append(queue, last);
}

void queue_move(struct queue *from, struct queue *to, int64_t due_us) {
  for (struct chunk *chunk = from->first; chunk; chunk = chunk->next) queue_add(to, chunk->bytes, chunk->size, due_us);
  queue_free(from);
}

static void drop_first(struct queue *queue) {
  struct chunk *chunk = queue->first;

  queue->first = chunk->next;
  if (!queue->first) queue->last = NULL;
  free(chunk);
}

void queue_free(struct queue *queue) {
  while (queue->first) drop_first(queue);
  queue->bytes = 0;
  queue->due_us = 0;
}

static int due_vectors(struct queue *queue, struct iovec *vectors) {
  int count = 0;
  int64_t now = now_us();

  for (struct chunk *chunk = queue->first; chunk && chunk->due_us <= now && count < VECTORS; chunk = chunk->next) {
    vectors[count++] = (struct iovec){chunk->bytes + chunk->written, chunk->size - chunk->written};
  }
  return count;
}

static void written(struct queue *queue, size_t size) {
  queue->bytes -= size;
  while (size) {
    struct chunk *chunk = queue->first;
    size_t left = chunk->size - chunk->written;

    if (left > size) {
      chunk->written += size;
      return;
    }
    size -= left;
    drop_first(queue);
  }
}

int queue_write(struct queue *queue, int fd) {
  struct iovec vectors[VECTORS];
  int count;

  while ((count = due_vectors(queue, vectors))) {
    ssize_t size = writev(fd, vectors, count);

    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN ? 1 : -1;
    written(queue, (size_t)size);
  }
  return 0;
}
