#ifndef PK_PARK_H
#define PK_PARK_H

#include <stdatomic.h>
#include <stdint.h>

#include "clock.h"
#include "wake.h"

#if defined(__linux__) && !defined(PENSTOCK_NO_EVENTFD)
#define PK_FUTEX 1
#endif

/* Where one thread sleeps until somebody tells it something, one bit a thing. It
 * lies on the sleeper's stack and belongs to one wait.
 *
 *   open    nothing is told
 *   tell    any thread, or a signal handler that interrupts the sleeper itself:
 *           atomics and a system call, no lock. A bit told before the sleep makes
 *           it end at once, one told during it wakes, one told after it stays
 *           until close and hurts nobody
 *   wait    answers the bits told, at least one; 0 when the deadline has passed
 *
 * A teller's last touch of the memory is the one that sets the bit, so a sleeper
 * that has seen the bit of its only teller may leave its stack. A futex where
 * there is one; else a pipe of its own (PENSTOCK_NO_EVENTFD forces that), and when
 * descriptors have run out, a look every few milliseconds. */
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
