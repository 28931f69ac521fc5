#ifndef PK_TURN_H
#define PK_TURN_H

#include <stdatomic.h>

/* Whose delivery was resolved, and who therefore wants Ruby's lock, comes to its
 * turn although another thread floods. Without this the flooding thread keeps the
 * lock for its whole quantum of 100 ms, again and again: a synchronous caller beside
 * it got a few messages a second.
 *
 *   nobody wants it     dispatch costs one relaxed load more
 *   somebody wants it   said without the GVL, when the wait is over and before the
 *                       lock is taken; taken back with the GVL held. Ruby raises
 *                       nothing between the two
 *   expected            the time in which a fiber is to come on that was just told:
 *                       its thread sleeps in its scheduler's wait, of whose end we
 *                       don't hear
 *
 * Who dispatches gives way at the very beginning, before it has looked at anything:
 * what runs meanwhile may close the producer, and what interrupts (Thread#raise, a
 * signal) is raised right there, while nothing is sent. It gives way for a tenth of
 * the time at most: threads that only compute are in the same queue for the lock,
 * and would take the turns of those who produce. */

extern _Atomic unsigned pk_turns_wanted;

/* Without the GVL: the wait is over, the lock is what comes next. */
void pk_turn_want(void);

/* With the GVL held, once for each of the above. */
void pk_turn_taken(void);

/* Any thread, with the GVL or without. */
void pk_turn_expect(void);

/* May run other threads, and raise. */
void pk_turn_give_way(void);

static inline void pk_turn_offer(void) {
  if (atomic_load_explicit(&pk_turns_wanted, memory_order_relaxed)) pk_turn_give_way();
}

void Init_pk_turn(void);

#endif
