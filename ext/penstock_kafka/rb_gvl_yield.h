#ifndef PK_GVL_YIELD_H
#define PK_GVL_YIELD_H

#include <stdatomic.h>

/* Gives Ruby's lock to a thread whose delivery was resolved while another
 * thread dispatches without pause. Without this the dispatching thread keeps
 * the lock for its whole quantum of 100 ms, again and again: a synchronous
 * caller in the same process got a few messages a second.
 *
 *   nobody wants it     dispatch costs one more relaxed load
 *   a thread wants it   set without the GVL, when the wait has ended and before the
 *                       lock is taken; cleared with the GVL held. Ruby raises
 *                       nothing between the two
 *   expected            the time in which a fiber that was just woken should continue:
 *                       its thread sleeps in its scheduler's wait, whose end isn't
 *                       visible here
 *
 * The dispatching thread gives way at the very beginning, before it has read
 * anything: code that runs meanwhile may close the producer, and an interrupt
 * (Thread#raise, a signal) is raised right there, while nothing is sent. It
 * gives way for a tenth of the time at most: threads that only compute wait for
 * the same lock, and would take the turns of those that produce. */

extern _Atomic unsigned pk_gvl_wanted;

/* Without the GVL: the wait has ended, taking the lock is next. */
void pk_gvl_want(void);

/* With the GVL held, once for each pk_gvl_want. */
void pk_gvl_taken(void);

/* Any thread, with the GVL or without. */
void pk_gvl_expect(void);

/* May run other threads, and raise. */
void pk_gvl_give_way(void);

static inline void pk_gvl_offer(void) {
  if (atomic_load_explicit(&pk_gvl_wanted, memory_order_relaxed)) pk_gvl_give_way();
}

void Init_pk_gvl_yield(void);

#endif
