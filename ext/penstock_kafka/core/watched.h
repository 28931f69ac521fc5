#ifndef PK_WATCHED_H
#define PK_WATCHED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "wake.h"

/* The numbers of deliveries whose fate is known, or whose time is over, while
 * fibers of one thread wait for them. Who puts a number in never waits; the
 * thread finds a descriptor readable, which its scheduler watches with all
 * others, and takes the numbers out. So no thread stands between the client's and
 * the fibers'.
 *
 * Held by that thread's object and by each wait that may still put its number in. */
typedef struct pk_watched {
  pthread_mutex_t lock;
  uint64_t *numbers;
  size_t count;
  size_t capacity;
  pk_wake_t wake;
  _Atomic int refs;
  void (*told)(void); /* called whenever it is rung, on whatever thread; or NULL */
} pk_watched_t;

/* One reference. NULL with errno when there is no descriptor or memory left. */
pk_watched_t *pk_watched_new(void (*told)(void));
void pk_watched_retain(pk_watched_t *watched);
void pk_watched_release(pk_watched_t *watched);

/* Readable when there is something to take, and at times for nothing; -1 in a
 * fork's child. */
int pk_watched_fd(const pk_watched_t *watched);

/* Any thread, also with a stripe's lock held. Whose thread sleeps isn't woken yet:
 * it would want that lock next. `*bell` is NULL at first, and rung when the lock is
 * free again. */
void pk_watched_push(pk_watched_t *watched, uint64_t number, pk_watched_t **bell);
void pk_watched_ring(pk_watched_t **bell);

/* At most max of the oldest; 0 when there are none. Never waits. One thread. */
size_t pk_watched_take(pk_watched_t *watched, uint64_t *into, size_t max);

/* In a fork's child: closes the descriptor. Nothing else may be done with it there. */
void pk_watched_forget(pk_watched_t *watched);

#endif
