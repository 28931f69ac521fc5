#ifndef PK_COMPLETIONS_H
#define PK_COMPLETIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "wake.h"

/* The numbers of deliveries whose outcome is known, or whose timeout has
 * passed, while fibers of one thread wait for them. Adding a number never
 * blocks; the thread's scheduler watches a descriptor with all others, which
 * becomes readable, and the thread takes the numbers out. So there is no thread
 * between the client's and the fibers'.
 *
 * Held by that thread's object and by each wait that may still add its number. */
typedef struct pk_completions {
  pthread_mutex_t lock;
  uint64_t *numbers;
  size_t count;
  size_t capacity;
  pk_wake_t wake;
  _Atomic int refs;
  void (*told)(void); /* called whenever it is rung, on any thread; or NULL */
} pk_completions_t;

/* One reference. NULL with errno if there is no descriptor or memory left. */
pk_completions_t *pk_completions_new(void (*told)(void));
void pk_completions_retain(pk_completions_t *watched);
void pk_completions_release(pk_completions_t *watched);

/* Readable if there is something to take, sometimes spuriously; -1 in a forked
 * child. */
int pk_completions_fd(const pk_completions_t *watched);

/* Any thread, even with a stripe's lock held. The sleeping thread isn't woken
 * yet, since it would need that lock next. `*bell` is NULL at first, and rung
 * after the lock was released. */
void pk_completions_push(pk_completions_t *watched, uint64_t number, pk_completions_t **bell);
void pk_completions_ring(pk_completions_t **bell);

/* Takes at most max, oldest first; 0 if there are none. Never blocks. One
 * thread. */
size_t pk_completions_take(pk_completions_t *watched, uint64_t *into, size_t max);

/* In a forked child: closes the descriptor. The child may not use it otherwise. */
void pk_completions_forget(pk_completions_t *watched);

#endif
