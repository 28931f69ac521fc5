#ifndef PK_WATCHED_H
#define PK_WATCHED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers of deliveries that were resolved while a fiber waits for them. Who
 * resolves puts a number in and never waits; one thread of the binding takes them
 * out and wakes the fibers. A thread a waiting fiber would be the alternative. */
typedef struct pk_watched {
  pthread_mutex_t lock;
  pthread_cond_t ready;
  uint64_t *numbers;
  size_t count;
  size_t capacity;
  bool closed;
} pk_watched_t;

void pk_watched_init(pk_watched_t *watched);
void pk_watched_destroy(pk_watched_t *watched);

/* Any thread, also with a stripe's lock held. */
void pk_watched_push(pk_watched_t *watched, uint64_t number);

/* At most max of the oldest. Waits until there is one, nothing comes any more, the
 * deadline has passed or `interrupted` (guarded by the lock) is set. Without the GVL. */
size_t pk_watched_take(pk_watched_t *watched, uint64_t *into, size_t max, int64_t deadline_ms, const bool *interrupted);
void pk_watched_interrupt(pk_watched_t *watched, bool *interrupted);

/* Nothing is put in any more; what lies there can still be taken. */
void pk_watched_close(pk_watched_t *watched);
bool pk_watched_ended(pk_watched_t *watched);

#endif
