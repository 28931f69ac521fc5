/* The wake-up: coalesced, never lost, and closed while other threads still
 * signal. */
#include "wake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

static void test_many_signals_are_one(void) {
  pk_wake_t wake;

  CHECK(pk_wake_init(&wake) == 0);
  CHECK(!pk_wake_wait(&wake, 0));
  for (int i = 0; i < 5; i++) pk_wake_signal(&wake);
  CHECK(pk_wake_wait(&wake, 1000));
  CHECK(!pk_wake_wait(&wake, 20));
  pk_wake_signal(&wake);
  CHECK(pk_wake_take(&wake));
  CHECK(!pk_wake_take(&wake));
  pk_wake_close(&wake);
  pk_wake_signal(&wake); /* nothing happens */
}

enum { SIGNALLERS = 4, ROUNDS = 20000 };
static pk_wake_t shared;
static _Atomic long published;

static void *publish(void *unused) {
  for (int i = 0; i < ROUNDS; i++) {
    atomic_fetch_add(&published, 1);
    pk_wake_signal(&shared);
  }
  return unused;
}

/* Each time it is woken the thread sees everything published before. If one
 * signal were lost, it would wait in vain for the last. */
static void test_nothing_published_is_missed(void) {
  pthread_t threads[SIGNALLERS];
  long seen = 0;
  int timeouts = 0;

  CHECK(pk_wake_init(&shared) == 0);
  for (int i = 0; i < SIGNALLERS; i++) pthread_create(&threads[i], NULL, publish, NULL);
  while (seen < SIGNALLERS * ROUNDS && timeouts < 5) {
    if (!pk_wake_wait(&shared, 2000)) timeouts++;
    seen = atomic_load(&published);
  }
  CHECK(seen == SIGNALLERS * ROUNDS);
  CHECK(timeouts == 0);
  for (int i = 0; i < SIGNALLERS; i++) pthread_join(threads[i], NULL);
  pk_wake_close(&shared);
}

static _Atomic int stop;

static void *signal_on(void *unused) {
  while (!atomic_load(&stop)) {
    atomic_store(&shared.signalled, 0);
    pk_wake_signal(&shared);
  }
  return unused;
}

/* A write after the close would go to the descriptor that reused the number
 * meanwhile. */
static void test_close_waits_for_those_who_write(void) {
  for (int round = 0; round < 50; round++) {
    pthread_t thread;
    int fds[2];
    char byte;

    atomic_store(&stop, 0);
    CHECK(pk_wake_init(&shared) == 0);
    pthread_create(&thread, NULL, signal_on, NULL);
    usleep(200);
    pk_wake_close(&shared);
    CHECK(pipe(fds) == 0);
    usleep(200);
    close(fds[1]);
    CHECK(read(fds[0], &byte, 1) == 0);
    close(fds[0]);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
  }
}

int main(void) {
  test_many_signals_are_one();
  test_nothing_published_is_missed();
  test_close_waits_for_those_who_write();
  return report();
}
