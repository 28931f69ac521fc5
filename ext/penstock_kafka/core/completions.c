#include "completions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PK_WATCHED_START 64

pk_completions_t *pk_completions_new(void (*told)(void)) {
  pk_completions_t *watched = calloc(1, sizeof *watched);
  int err = watched ? pk_wake_init(&watched->wake) : ENOMEM;

  if (err) {
    free(watched);
    errno = err;
    return NULL;
  }
  pthread_mutex_init(&watched->lock, NULL);
  atomic_init(&watched->refs, 1);
  watched->told = told;
  return watched;
}

void pk_completions_retain(pk_completions_t *watched) {
  atomic_fetch_add_explicit(&watched->refs, 1, memory_order_relaxed);
}

void pk_completions_release(pk_completions_t *watched) {
  if (atomic_fetch_sub_explicit(&watched->refs, 1, memory_order_acq_rel) > 1) return;
  pk_wake_close(&watched->wake);
  pthread_mutex_destroy(&watched->lock);
  free(watched->numbers);
  free(watched);
}

int pk_completions_fd(const pk_completions_t *watched) {
  return watched->wake.read_fd;
}

/* Must be called with the lock held. A fiber that isn't woken waits forever,
 * which is worse than ending; without memory the process can't survive anyway. */
static void pk_completions_grow_locked(pk_completions_t *watched) {
  watched->capacity = watched->capacity ? watched->capacity * 2 : PK_WATCHED_START;
  watched->numbers = realloc(watched->numbers, watched->capacity * sizeof *watched->numbers);
  if (!watched->numbers) abort();
}

void pk_completions_push(pk_completions_t *watched, uint64_t number, pk_completions_t **bell) {
  pthread_mutex_lock(&watched->lock);
  if (watched->count == watched->capacity) pk_completions_grow_locked(watched);
  watched->numbers[watched->count++] = number;
  pthread_mutex_unlock(&watched->lock);
  if (*bell == watched) return;
  pk_completions_ring(bell);
  pk_completions_retain(*bell = watched);
}

void pk_completions_ring(pk_completions_t **bell) {
  pk_completions_t *watched = *bell;

  if (!watched) return;
  *bell = NULL;
  if (watched->told) watched->told();
  pk_wake_signal(&watched->wake);
  pk_completions_release(watched);
}

/* Signals again if there is more. */
size_t pk_completions_take(pk_completions_t *watched, uint64_t *into, size_t max) {
  size_t taken, left;

  pk_wake_drain(&watched->wake);
  pthread_mutex_lock(&watched->lock);
  taken = watched->count < max ? watched->count : max;
  left = watched->count -= taken;
  if (taken) memcpy(into, watched->numbers, taken * sizeof *into);
  if (left) memmove(watched->numbers, watched->numbers + taken, left * sizeof *into);
  pthread_mutex_unlock(&watched->lock);
  if (left) pk_wake_signal(&watched->wake);
  return taken;
}

void pk_completions_forget(pk_completions_t *watched) {
  pk_wake_forget(&watched->wake);
}
