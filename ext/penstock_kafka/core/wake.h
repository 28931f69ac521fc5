#ifndef PK_WAKE_H
#define PK_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A wake-up that any thread, a signal handler or a callback of librdkafka can
 * give, and that one thread waits for in poll(2). Signals are coalesced: while
 * one is outstanding the next costs one atomic exchange. An eventfd where there
 * is one, else a pipe (PENSTOCK_NO_EVENTFD forces the pipe). Non-blocking,
 * close-on-exec, and closed in a fork's child, whose writes would wake the
 * parent.
 *
 * What is to be found after the wake-up is published before pk_wake_signal; the
 * waiter takes the signal back (pk_wake_wait answered true) before it looks, so
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
 * write goes to a descriptor that somebody else got meanwhile. Nobody waits any
 * more. */
void pk_wake_close(pk_wake_t *wake);

/* For a fork's child: closes without waiting for threads that aren't there. */
void pk_wake_forget(pk_wake_t *wake);

/* Async-signal-safe, never blocks. */
void pk_wake_signal(pk_wake_t *wake);

/* True and the signal taken back when there is one now. */
bool pk_wake_take(pk_wake_t *wake);

/* Takes back whatever there is, also what pk_wake_take leaves: the write of a
 * signaller whose signal was taken back between the two. For who waits for the
 * descriptor by other means than pk_wake_wait. */
void pk_wake_drain(pk_wake_t *wake);

/* Blocks until there is a signal (true, taken back) or the timeout (false); a
 * negative timeout waits for ever. Answers false early when a system signal
 * interrupts the wait. */
bool pk_wake_wait(pk_wake_t *wake, int timeout_ms);

#endif
