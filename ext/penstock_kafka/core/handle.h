#ifndef PK_HANDLE_H
#define PK_HANDLE_H

#include <pthread.h>
#include <rdkafka.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"
#include "thread.h"

/* The common part of every native handle (consumer, producer, admin, mock
 * cluster): which process created it, whether it may be used, and how many
 * calls are inside it, so that it isn't destroyed during a call.
 *
 * States: PK_OPEN -> PK_CLOSING -> PK_CLOSED. A handle inherited through fork
 * is PK_DISCARDED: its threads don't exist in the child, and its locks may be
 * held by threads that don't exist either, so the child never touches it again.
 *
 * Locks: `lock` guards `calls` and the transitions of `state`; it is held for a
 * few instructions only, never during a call into librdkafka or Ruby. The list
 * of the process's handles is guarded by the GVL: pk_handle_register,
 * pk_handle_unregister and pk_handles_forked are called by binding code that
 * holds it (a fork also happens with the GVL, so a child sees a complete list). */

typedef enum { PK_OPEN, PK_CLOSING, PK_CLOSED, PK_DISCARDED } pk_state_t;

enum {
  PK_E_FORKED = -1, /* created by another process */
  PK_E_CLOSED = -2  /* closing, closed or discarded */
};

enum {
  PK_CLOSE_DONE = 0, /* another thread closes or has closed it */
  PK_CLOSE_MINE = 1, /* no call is inside: destroy it, then pk_handle_closed */
  PK_CLOSE_BUSY = 2  /* the deadline passed with calls inside: hand it to the
                        reaper, which waits with pk_handle_drain */
};

typedef struct pk_handle {
  rd_kafka_t *rk;
  pid_t pid;
  _Atomic int state;
  int calls;
  pthread_mutex_t lock;
  pthread_cond_t idle; /* calls reached 0, or the state changed */
  /* Called in a fork's child for each handle of the process, with the GVL:
   * closes the inherited descriptors. It may neither lock nor call librdkafka. */
  void (*forked)(struct pk_handle *);
  /* Called by begin_close, with the lock held, when the handle refuses new
   * calls and before it waits for those inside: makes them end. If it came
   * earlier, a call could end and its thread enter again before the handle
   * refuses. May be NULL. */
  void (*rouse)(struct pk_handle *);
  struct pk_handle *next_in_process;
  struct pk_handle *prev_in_process;
  bool registered;
} pk_handle_t;

/* Initializes an open handle of this process; the caller sets `rk`, `forked`
 * and `rouse`. */
void pk_handle_init(pk_handle_t *handle);

/* Frees locks of a closed handle. Does nothing in a child: destroying a
 * condition variable on which the parent's threads wait blocks forever. */
void pk_handle_destroy(pk_handle_t *handle);

bool pk_inherited(const pk_handle_t *handle); /* pid != getpid() */

/* 0 and one call counted, or PK_E_FORKED, PK_E_CLOSED. Pair with leave. */
int pk_handle_enter(pk_handle_t *handle);

/* The same, but also while the handle is closing: for calls that close itself
 * needs. */
int pk_handle_enter_closing(pk_handle_t *handle);
void pk_handle_leave(pk_handle_t *handle);

/* Refuses new calls, makes those inside end and waits for them. Blocks: call it
 * without the GVL. */
int pk_handle_begin_close(pk_handle_t *handle, int64_t deadline_ms);

/* The same for an optional close: if a call is inside, returns PK_CLOSE_BUSY
 * and the handle stays open. Never waits. To undo it, reopen before other
 * threads can run. */
int pk_handle_try_close(pk_handle_t *handle);
void pk_handle_reopen(pk_handle_t *handle);

/* Waits without a deadline until no call is inside: for the reaper. */
void pk_handle_drain(pk_handle_t *handle);

/* The same until the deadline; returns whether no call is inside any more. */
bool pk_handle_drain_until(pk_handle_t *handle, int64_t deadline_ms);

/* Ends what begin_close began; wakes threads that wait for the close. */
void pk_handle_closed(pk_handle_t *handle);

/* PK_DISCARDED without looking at any lock: for a child. */
void pk_handle_discard(pk_handle_t *handle);

pk_state_t pk_handle_state(const pk_handle_t *handle);

/* The handles of this process. With the GVL. */
void pk_handle_register(pk_handle_t *handle);
void pk_handle_unregister(pk_handle_t *handle);
void pk_handles_forked(void);
int pk_handles_count(void);

#endif
