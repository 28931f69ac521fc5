#ifndef PK_PARK_H
#define PK_PARK_H

#include <stdatomic.h>
#include <stdint.h>

#include "clock.h"
#include "wake.h"

#if defined(__linux__) && !defined(PENSTOCK_NO_EVENTFD)
#define PK_FUTEX 1
#endif

/* A place where one thread sleeps until it gets a signal, one bit per kind. It
 * is on the sleeper's stack and belongs to one wait.
 *
 *   `open`  no bit is set
 *   `tell`  any thread, or a signal handler that interrupts the sleeper itself:
 *           atomics and a system call, no lock. A bit set before the sleep makes
 *           it end at once, one set during it wakes the sleeper, one set after it
 *           stays until close and does no harm
 *   `wait`  returns the bits that are set, at least one; 0 if the deadline has passed
 *
 * The last access of `tell` to the memory sets the bit, so a sleeper that has
 * seen the bit of the only other thread may leave its stack. Uses a futex where
 * there is one; otherwise a pipe (PENSTOCK_NO_EVENTFD forces that), and if
 * there are no descriptors left, it checks every few milliseconds. */
typedef struct {
  _Atomic uint32_t told;
#ifndef PK_FUTEX
  pk_wake_t wake;
#endif
} pk_park_t;

void pk_park_open(pk_park_t *park);
void pk_park_close(pk_park_t *park);
void pk_park_tell(pk_park_t *park, uint32_t bit);
uint32_t pk_park_wait(pk_park_t *park, int64_t deadline_ms);

#endif
