/* How long a worker thread is busy, how much of that it waits for Ruby's lock
 * (the GVL), and how long it holds the lock. */
#ifndef PK_CORE_LOCK_METER_H
#define PK_CORE_LOCK_METER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* One per worker thread. Everything runs with Ruby's lock, which guards the
 * fields and the list of free meters, except pk_lock_meter_ready: that is
 * called while the thread has no lock, maybe by another thread. Nothing here
 * calls Ruby, and only pk_lock_meter_open allocates.
 *
 * A meter that was closed is used again and never freed: a hook that still has
 * it writes to a meter, not to memory of something else. So there are as many
 * as there were workers at once. */
/* What the kernel counts for a thread, since it began. */
typedef struct {
  int64_t cpu_ns;
  int64_t queued_ns; /* it could run, but there was no free CPU */
  int64_t yielded;   /* how often it waited for something */
  int64_t preempted; /* how often it lost the CPU */
} pk_thread_usage_t;

typedef struct pk_lock_meter {
  _Atomic int64_t ready_ns; /* since when the thread waits for the lock; 0: it doesn't */
  int64_t waited_ns;        /* ended waits while it was busy */
  int64_t busy_ns;          /* ended times of being busy */
  int64_t busy_since_ns;    /* 0: it is idle */
  int64_t held_ns;          /* at the last reading; -1: can't be read */
  pk_thread_usage_t usage;  /* at the last reading */
  clockid_t cpu_clock;      /* of its thread */
  pid_t pid, tid;           /* of its thread */
  struct pk_lock_meter *next; /* in the list of free meters */
} pk_lock_meter_t;

typedef struct {
  int64_t busy_ns;
  int64_t waited_ns; /* part of busy_ns */
  int64_t held_ns;   /* -1: unknown */
} pk_lock_figures_t;

/* For the calling thread. NULL: no memory. */
pk_lock_meter_t *pk_lock_meter_open(void);

void pk_lock_meter_close(pk_lock_meter_t *meter);

/* Called by its thread, around its work. */
void pk_lock_meter_busy(pk_lock_meter_t *meter);
void pk_lock_meter_idle(pk_lock_meter_t *meter);

/* The thread wants the lock; it has got it. */
void pk_lock_meter_ready(pk_lock_meter_t *meter);
void pk_lock_meter_resumed(pk_lock_meter_t *meter);

/* Since it was opened. Called by any thread.
 *
 * The time for which a thread held the lock isn't known; held_ns is an estimate
 * by what the kernel counts: its CPU time, and the time in which it had no CPU
 * after it was preempted, because a preempted thread keeps the lock. How long it
 * was without a CPU is known as a sum only, so each time counts alike. */
pk_lock_figures_t pk_lock_meter_read(pk_lock_meter_t *meter);

/* The estimate between two readings; for tests. */
int64_t pk_lock_held_ns(const pk_thread_usage_t *before, const pk_thread_usage_t *after);

#endif
