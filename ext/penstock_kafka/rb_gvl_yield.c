#include "rb_gvl_yield.h"

#include <pthread.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <stdint.h>
#include <time.h>

/* One bit, and above it the number of threads that want the lock. */
#define EXPECTED 1U
#define WANTED 2U

#define EXPECTED_NS 5000000

/* Others get a tenth of the time, and what they left of the last 200 ms. */
#define SHARE 10
#define SAVED_NS 200000000

_Atomic unsigned pk_gvl_wanted;

static _Atomic int64_t expected_until_ns;
static int64_t rest_until_ns; /* guarded by the GVL */

static int64_t now_ns(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void pk_gvl_want(void) {
  atomic_fetch_add_explicit(&pk_gvl_wanted, WANTED, memory_order_relaxed);
}

void pk_gvl_taken(void) {
  atomic_fetch_sub_explicit(&pk_gvl_wanted, WANTED, memory_order_relaxed);
}

void pk_gvl_expect(void) {
  atomic_store(&expected_until_ns, now_ns() + EXPECTED_NS);
  atomic_fetch_or(&pk_gvl_wanted, EXPECTED);
}

/* Another thread may be expected again at the same moment. */
static void expect_nobody(int64_t begun_ns) {
  atomic_fetch_and(&pk_gvl_wanted, ~EXPECTED);
  if (atomic_load(&expected_until_ns) >= begun_ns) atomic_fetch_or(&pk_gvl_wanted, EXPECTED);
}

void pk_gvl_give_way(void) {
  int64_t begun_ns = now_ns();

  if (begun_ns > atomic_load(&expected_until_ns)) expect_nobody(begun_ns);
  if (begun_ns < rest_until_ns) return;
  rb_thread_schedule(); /* if it raises, the time isn't counted, which does no harm */
  if (rest_until_ns < begun_ns - SAVED_NS) rest_until_ns = begun_ns - SAVED_NS;
  rest_until_ns += SHARE * (now_ns() - begun_ns);
}

/* The threads that wanted it don't exist in the child. */
static void forked(void) {
  atomic_store(&pk_gvl_wanted, 0);
}

void Init_pk_gvl_yield(void) {
  pthread_atfork(NULL, NULL, forked);
}
