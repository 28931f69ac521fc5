/* One thread sleeps, others and signal handlers set its bits: before, during
 * and after its sleep. */
#include "../../core/check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "park.h"
#include "thread.h"

enum { FIRST = 1, SECOND = 2 };

#define ROUNDS 2000

static pk_park_t *park_of_main;

static void what_was_told_before_is_kept(void) {
  pk_park_t park;

  pk_park_open(&park);
  pk_park_tell(&park, SECOND);
  CHECK(pk_park_wait(&park, PK_NO_DEADLINE) == SECOND);
  pk_park_tell(&park, FIRST); /* after the sleep */
  CHECK(pk_park_wait(&park, PK_NO_DEADLINE) == (FIRST | SECOND));
  pk_park_close(&park);
}

static void a_deadline_ends_it(void) {
  int64_t before = pk_now_ms();
  pk_park_t park;

  pk_park_open(&park);
  CHECK(pk_park_wait(&park, pk_deadline(0)) == 0);
  CHECK(pk_park_wait(&park, pk_deadline(30)) == 0);
  CHECK(pk_now_ms() - before >= 29);
  pk_park_close(&park);
}

static void on_signal(int number) {
  (void)number;
  pk_park_tell(park_of_main, FIRST);
}

static void *signal_main(void *thread) {
  usleep(20000);
  pthread_kill(*(pthread_t *)thread, SIGUSR1);
  return NULL;
}

static void a_signal_handler_on_top_of_it_wakes(void) {
  pthread_t sleeper = pthread_self(), signaller;
  pk_park_t park;

  park_of_main = &park;
  signal(SIGUSR1, on_signal);
  for (int i = 0; i < 5; i++) {
    pk_park_open(&park);
    CHECK(pk_thread_start(&signaller, "signaller", signal_main, &sleeper) == 0);
    CHECK(pk_park_wait(&park, pk_deadline(10000)) == FIRST);
    pthread_join(signaller, NULL);
    pk_park_close(&park);
  }
  signal(SIGUSR1, SIG_DFL);
}

static pk_park_t *_Atomic shared;

static void *tell_each(void *arg) {
  pk_park_t *park;

  for (int i = 0; i < ROUNDS; i++) {
    while (!(park = atomic_exchange(&shared, NULL))) continue;
    pk_park_tell(park, SECOND);
  }
  return arg;
}

/* One park per round, on a stack that is reused at once. */
static uint32_t one_round(void) {
  pk_park_t park;
  uint32_t told;

  pk_park_open(&park);
  atomic_store(&shared, &park);
  told = pk_park_wait(&park, pk_deadline(10000));
  pk_park_close(&park);
  return told;
}

static void no_telling_is_lost(void) {
  pthread_t teller;
  int told = 0;

  CHECK(pk_thread_start(&teller, "teller", tell_each, NULL) == 0);
  for (int i = 0; i < ROUNDS; i++) told += one_round() == SECOND;
  pthread_join(teller, NULL);
  CHECK(told == ROUNDS);
}

static void *tell_soon(void *park) {
  usleep(20000);
  pk_park_tell(park, FIRST);
  return NULL;
}

static void it_works_when_descriptors_have_run_out(void) {
  struct rlimit before, none;
  pthread_t teller;
  pk_park_t park;

  getrlimit(RLIMIT_NOFILE, &before);
  none = before;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  pk_park_open(&park);
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(pk_park_wait(&park, pk_deadline(20)) == 0);
  CHECK(pk_thread_start(&teller, "teller", tell_soon, &park) == 0);
  CHECK(pk_park_wait(&park, PK_NO_DEADLINE) == FIRST);
  pthread_join(teller, NULL);
  pk_park_close(&park);
}

int main(void) {
  what_was_told_before_is_kept();
  a_deadline_ends_it();
  a_signal_handler_on_top_of_it_wakes();
  no_telling_is_lost();
  it_works_when_descriptors_have_run_out();
  return report();
}
