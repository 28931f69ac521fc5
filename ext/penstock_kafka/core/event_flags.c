#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "event_flags.h"

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

void pk_event_flags_open(pk_event_flags_t *flags) {
  atomic_store(&flags->bits, 0);
}

void pk_event_flags_close(pk_event_flags_t *flags) {
  (void)flags;
}

/* The sleeper may be gone when it is woken: then no thread sleeps at the
 * address, and any other futex user checks its condition again after a spurious
 * wakeup. */
void pk_event_flags_set(pk_event_flags_t *flags, uint32_t bit) {
  int saved_errno = errno;

  atomic_fetch_or(&flags->bits, bit);
  syscall(SYS_futex, &flags->bits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  errno = saved_errno;
}

uint32_t pk_event_flags_wait(pk_event_flags_t *flags, int64_t deadline_ms) {
  pk_moment_t until = {.seconds = (long)(deadline_ms / 1000), .nanoseconds = (long)(deadline_ms % 1000) * 1000000};
  uint32_t bits;

  while (!(bits = atomic_load(&flags->bits)) && pk_remaining_ms(deadline_ms) > 0) {
    syscall(SYS_futex, &flags->bits, FUTEX_WAIT_BITSET_PRIVATE, 0, deadline_ms == PK_NO_DEADLINE ? NULL : &until, NULL,
            FUTEX_BITSET_MATCH_ANY);
  }
  return bits;
}

#else

#include <sched.h>

#define PK_BLIND_MS 5

void pk_event_flags_open(pk_event_flags_t *flags) {
  atomic_store(&flags->bits, 0);
  pk_wake_init(&flags->wake);
}

void pk_event_flags_close(pk_event_flags_t *flags) {
  pk_wake_close(&flags->wake);
}

/* The bit comes last: the sleeper may leave as soon as it sees it. */
void pk_event_flags_set(pk_event_flags_t *flags, uint32_t bit) {
  pk_wake_signal(&flags->wake);
  atomic_fetch_or(&flags->bits, bit);
}

static int pk_event_flags_slice_ms(const pk_event_flags_t *flags, int64_t deadline_ms) {
  int left = pk_remaining_ms(deadline_ms);

  return flags->wake.read_fd < 0 && left > PK_BLIND_MS ? PK_BLIND_MS : left;
}

uint32_t pk_event_flags_wait(pk_event_flags_t *flags, int64_t deadline_ms) {
  uint32_t bits;
  bool woken = false;

  while (!(bits = atomic_load(&flags->bits)) && (woken || pk_remaining_ms(deadline_ms) > 0)) {
    if (woken) sched_yield(); /* the bit is about to be set */
    else woken = pk_wake_wait(&flags->wake, pk_event_flags_slice_ms(flags, deadline_ms));
  }
  return bits;
}

#endif
