#ifndef PK_EVENT_FLAGS_H
#define PK_EVENT_FLAGS_H

#include <stdatomic.h>
#include <stdint.h>

#include "clock.h"
#include "wake.h"

#if defined(__linux__) && !defined(PENSTOCK_NO_EVENTFD)
#define PK_FUTEX 1
#endif

/* Event flags: one thread sleeps until another one sets a bit, one per kind of
 * event. They are on the sleeper's stack and belong to one wait.
 *
 *   `open`  no bit is set
 *   `set`   any thread, or a signal handler that interrupts the sleeper itself:
 *           atomics and a system call, no lock. A bit set before the sleep makes
 *           it end at once, one set during it wakes the sleeper, one set after it
 *           stays until close and does no harm
 *   `wait`  returns the bits that are set, at least one; 0 if the deadline has passed
 *
 * The last access of `set` to the memory sets the bit, so a sleeper that has
 * seen the bit of the only other thread may leave its stack. Uses a futex where
 * there is one; otherwise a pipe (PENSTOCK_NO_EVENTFD forces that), and if
 * there are no descriptors left, it checks every few milliseconds. */
typedef struct {
  _Atomic uint32_t bits;
#ifndef PK_FUTEX
  pk_wake_t wake;
#endif
} pk_event_flags_t;

void pk_event_flags_open(pk_event_flags_t *flags);
void pk_event_flags_close(pk_event_flags_t *flags);
void pk_event_flags_set(pk_event_flags_t *flags, uint32_t bit);
uint32_t pk_event_flags_wait(pk_event_flags_t *flags, int64_t deadline_ms);

#endif
