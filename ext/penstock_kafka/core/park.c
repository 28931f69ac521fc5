#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "park.h"

#include <errno.h>

#ifdef PK_FUTEX

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The struct that the system call reads, even if the C library defines struct
 * timespec differently on a 32-bit system. */
typedef struct {
  long seconds;
  long nanoseconds;
} pk_moment_t;

void pk_park_open(pk_park_t *park) {
  atomic_store(&park->told, 0);
}

void pk_park_close(pk_park_t *park) {
  (void)park;
}

/* The sleeper may be gone when it is woken: then no thread sleeps at the
 * address, and any other futex user checks its condition again after a spurious
 * wakeup. */
void pk_park_tell(pk_park_t *park, uint32_t bit) {
  int saved_errno = errno;

  atomic_fetch_or(&park->told, bit);
  syscall(SYS_futex, &park->told, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  errno = saved_errno;
}

uint32_t pk_park_wait(pk_park_t *park, int64_t deadline_ms) {
  pk_moment_t until = {.seconds = (long)(deadline_ms / 1000), .nanoseconds = (long)(deadline_ms % 1000) * 1000000};
  uint32_t told;

  while (!(told = atomic_load(&park->told)) && pk_remaining_ms(deadline_ms) > 0) {
    syscall(SYS_futex, &park->told, FUTEX_WAIT_BITSET_PRIVATE, 0, deadline_ms == PK_NO_DEADLINE ? NULL : &until, NULL,
            FUTEX_BITSET_MATCH_ANY);
  }
  return told;
}

#else

#include <sched.h>

#define PK_BLIND_MS 5

void pk_park_open(pk_park_t *park) {
  atomic_store(&park->told, 0);
  pk_wake_init(&park->wake);
}

void pk_park_close(pk_park_t *park) {
  pk_wake_close(&park->wake);
}

/* The bit comes last: the sleeper may leave as soon as it sees it. */
void pk_park_tell(pk_park_t *park, uint32_t bit) {
  pk_wake_signal(&park->wake);
  atomic_fetch_or(&park->told, bit);
}

static int pk_park_slice_ms(const pk_park_t *park, int64_t deadline_ms) {
  int left = pk_remaining_ms(deadline_ms);

  return park->wake.read_fd < 0 && left > PK_BLIND_MS ? PK_BLIND_MS : left;
}

uint32_t pk_park_wait(pk_park_t *park, int64_t deadline_ms) {
  uint32_t told;
  bool woken = false;

  while (!(told = atomic_load(&park->told)) && (woken || pk_remaining_ms(deadline_ms) > 0)) {
    if (woken) sched_yield(); /* the bit is about to be set */
    else woken = pk_wake_wait(&park->wake, pk_park_slice_ms(park, deadline_ms));
  }
  return told;
}

#endif
