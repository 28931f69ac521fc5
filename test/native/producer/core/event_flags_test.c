/* One thread sleeps, others and signal handlers set its bits: before, during
 * and after its sleep. */
#include "../../core/check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "event_flags.h"
#include "thread.h"

enum { FIRST = 1, SECOND = 2 };

#define ROUNDS 2000

static pk_event_flags_t *flags_of_main;

static void a_bit_set_before_the_sleep_is_kept(void) {
  pk_event_flags_t flags;

  pk_event_flags_open(&flags);
  pk_event_flags_set(&flags, SECOND);
  CHECK(pk_event_flags_wait(&flags, PK_NO_DEADLINE) == SECOND);
  pk_event_flags_set(&flags, FIRST); /* after the sleep */
  CHECK(pk_event_flags_wait(&flags, PK_NO_DEADLINE) == (FIRST | SECOND));
  pk_event_flags_close(&flags);
}

static void a_deadline_ends_it(void) {
  int64_t before = pk_now_ms();
  pk_event_flags_t flags;

  pk_event_flags_open(&flags);
  CHECK(pk_event_flags_wait(&flags, pk_deadline(0)) == 0);
  CHECK(pk_event_flags_wait(&flags, pk_deadline(30)) == 0);
  CHECK(pk_now_ms() - before >= 29);
  pk_event_flags_close(&flags);
}

static void on_signal(int number) {
  (void)number;
  pk_event_flags_set(flags_of_main, FIRST);
}

static void *signal_main(void *thread) {
  usleep(20000);
  pthread_kill(*(pthread_t *)thread, SIGUSR1);
  return NULL;
}

static void a_signal_handler_on_top_of_it_wakes(void) {
  pthread_t sleeper = pthread_self(), signaller;
  pk_event_flags_t flags;

  flags_of_main = &flags;
  signal(SIGUSR1, on_signal);
  for (int i = 0; i < 5; i++) {
    pk_event_flags_open(&flags);
    CHECK(pk_thread_start(&signaller, "signaller", signal_main, &sleeper) == 0);
    CHECK(pk_event_flags_wait(&flags, pk_deadline(10000)) == FIRST);
    pthread_join(signaller, NULL);
    pk_event_flags_close(&flags);
  }
  signal(SIGUSR1, SIG_DFL);
}

static pk_event_flags_t *_Atomic shared;

static void *tell_each(void *arg) {
  pk_event_flags_t *flags;

  for (int i = 0; i < ROUNDS; i++) {
    while (!(flags = atomic_exchange(&shared, NULL))) continue;
    pk_event_flags_set(flags, SECOND);
  }
  return arg;
}

/* New flags for each round, on a stack that is reused at once. */
static uint32_t one_round(void) {
  pk_event_flags_t flags;
  uint32_t bits;

  pk_event_flags_open(&flags);
  atomic_store(&shared, &flags);
  bits = pk_event_flags_wait(&flags, pk_deadline(10000));
  pk_event_flags_close(&flags);
  return bits;
}

static void no_telling_is_lost(void) {
  pthread_t teller;
  int seen = 0;

  CHECK(pk_thread_start(&teller, "teller", tell_each, NULL) == 0);
  for (int i = 0; i < ROUNDS; i++) seen += one_round() == SECOND;
  pthread_join(teller, NULL);
  CHECK(seen == ROUNDS);
}

static void *tell_soon(void *flags) {
  usleep(20000);
  pk_event_flags_set(flags, FIRST);
  return NULL;
}

static void it_works_when_descriptors_have_run_out(void) {
  struct rlimit before, none;
  pthread_t teller;
  pk_event_flags_t flags;

  getrlimit(RLIMIT_NOFILE, &before);
  none = before;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  pk_event_flags_open(&flags);
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(pk_event_flags_wait(&flags, pk_deadline(20)) == 0);
  CHECK(pk_thread_start(&teller, "teller", tell_soon, &flags) == 0);
  CHECK(pk_event_flags_wait(&flags, PK_NO_DEADLINE) == FIRST);
  pthread_join(teller, NULL);
  pk_event_flags_close(&flags);
}

int main(void) {
  a_bit_set_before_the_sleep_is_kept();
  a_deadline_ends_it();
  a_signal_handler_on_top_of_it_wakes();
  no_telling_is_lost();
  it_works_when_descriptors_have_run_out();
  return report();
}
