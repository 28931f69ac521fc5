#ifndef PK_WAKE_H
#define PK_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A wake-up that any thread, a signal handler or a callback of librdkafka can
 * send, and that one thread waits for in poll(2). Signals are coalesced: while
 * one is pending the next costs one atomic exchange. Uses an eventfd where
 * there is one, else a pipe (PENSTOCK_NO_EVENTFD forces the pipe).
 * Non-blocking, close-on-exec, and closed in a forked child, whose writes would
 * wake the parent.
 *
 * Data for the woken thread is published before pk_wake_signal; the thread
 * clears the signal (pk_wake_wait returned true) before it reads the data, so
 * nothing is missed. */
typedef struct {
  _Atomic int signalled;
  _Atomic int write_fd;
  _Atomic int writers; /* signallers between reading write_fd and writing */
  int read_fd;
} pk_wake_t;

/* 0, or an errno. */
int pk_wake_init(pk_wake_t *wake);

/* Waits for signallers that are about to write (they never block), so that no
 * write goes to a descriptor that was reused meanwhile. No thread may wait any
 * more. */
void pk_wake_close(pk_wake_t *wake);

/* For a forked child: closes without waiting for threads that don't exist. */
void pk_wake_forget(pk_wake_t *wake);

/* Async-signal-safe, never blocks. */
void pk_wake_signal(pk_wake_t *wake);

/* If there is a signal now, clears it and returns true. */
bool pk_wake_take(pk_wake_t *wake);

/* Clears everything, including what pk_wake_take leaves: the write of a
 * signaller whose signal was cleared between the two. For threads that wait for
 * the descriptor by other means than pk_wake_wait. */
void pk_wake_drain(pk_wake_t *wake);

/* Blocks until there is a signal (true, cleared) or the timeout (false); a
 * negative timeout waits without a limit. Returns false early if a system
 * signal interrupts the wait. */
bool pk_wake_wait(pk_wake_t *wake, int timeout_ms);

#endif
