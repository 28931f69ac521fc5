#include "watched.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define PK_WATCHED_START 64

void pk_watched_init(pk_watched_t *watched) {
  memset(watched, 0, sizeof *watched);
  pthread_mutex_init(&watched->lock, NULL);
  pk_cond_init(&watched->ready);
}

void pk_watched_destroy(pk_watched_t *watched) {
  free(watched->numbers);
  pthread_cond_destroy(&watched->ready);
  pthread_mutex_destroy(&watched->lock);
}

/* Must be called with the lock held. A fiber that isn't told waits for ever: worse
 * than ending, and without memory the process is lost anyway. */
static void pk_watched_grow_locked(pk_watched_t *watched) {
  watched->capacity = watched->capacity ? watched->capacity * 2 : PK_WATCHED_START;
  watched->numbers = realloc(watched->numbers, watched->capacity * sizeof *watched->numbers);
  if (!watched->numbers) abort();
}

void pk_watched_push(pk_watched_t *watched, uint64_t number) {
  pthread_mutex_lock(&watched->lock);
  if (watched->count == watched->capacity) pk_watched_grow_locked(watched);
  watched->numbers[watched->count++] = number;
  if (watched->count == 1) pthread_cond_signal(&watched->ready);
  pthread_mutex_unlock(&watched->lock);
}

size_t pk_watched_take(pk_watched_t *watched, uint64_t *into, size_t max, int64_t deadline_ms, const bool *interrupted) {
  size_t taken;

  pthread_mutex_lock(&watched->lock);
  while (watched->count == 0 && !watched->closed && !*interrupted) {
    if (!pk_cond_wait_until(&watched->ready, &watched->lock, deadline_ms)) break;
  }
  taken = watched->count < max ? watched->count : max;
  if (taken) {
    memcpy(into, watched->numbers, taken * sizeof *into);
    watched->count -= taken;
    memmove(watched->numbers, watched->numbers + taken, watched->count * sizeof *into);
  }
  pthread_mutex_unlock(&watched->lock);
  return taken;
}

void pk_watched_interrupt(pk_watched_t *watched, bool *interrupted) {
  pthread_mutex_lock(&watched->lock);
  *interrupted = true;
  pthread_cond_broadcast(&watched->ready);
  pthread_mutex_unlock(&watched->lock);
}

void pk_watched_close(pk_watched_t *watched) {
  pthread_mutex_lock(&watched->lock);
  watched->closed = true;
  pthread_cond_broadcast(&watched->ready);
  pthread_mutex_unlock(&watched->lock);
}

bool pk_watched_ended(pk_watched_t *watched) {
  bool ended;

  pthread_mutex_lock(&watched->lock);
  ended = watched->closed && watched->count == 0;
  pthread_mutex_unlock(&watched->lock);
  return ended;
}
