/* A process may exit with open handles: the producer wasn't closed, or its
 * close is still running on the reaper's thread. exit() then runs OpenSSL's own
 * clean-up while librdkafka's threads run, and a thread that requests a random
 * number afterwards (every reconnect does, for its back-off) finds the locks
 * freed: a segmentation fault at the very end of an otherwise successful
 * process.
 *
 * There are two measures against it. OpenSSL is asked first, before other code
 * initializes it, to leave its memory to the end of the process. And if other
 * code was first (Ruby's openssl, in most applications), a handler that runs
 * before OpenSSL's ends the process if threads of librdkafka are still alive:
 * Ruby has finished its own exit (at_exit blocks, finalizers, flushed IO) by
 * then. */
#define _GNU_SOURCE
#include "exit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rdkafka.h>

#include "handle.h"

#define PK_OPENSSL_INIT_NO_ATEXIT UINT64_C(0x00080000)

/* Weak: a librdkafka without TLS isn't linked to libcrypto. */
extern int OPENSSL_init_crypto(uint64_t options, const void *settings) __attribute__((weak));

static pid_t loaded_by;

/* A fork copies librdkafka's counter, but not its threads; our own list of
 * handles starts empty in a child. */
static int threads_live(void) {
  return getpid() == loaded_by ? rd_kafka_thread_cnt() > 0 : pk_handles_count() > 0;
}

#ifdef __GLIBC__
static void end_now(int status, void *unused) {
  (void)unused;
  if (!threads_live()) return;
  fflush(NULL);
  _exit(status);
}
#endif

void pk_guard_exit(void) {
  loaded_by = getpid();
  if (OPENSSL_init_crypto) OPENSSL_init_crypto(PK_OPENSSL_INIT_NO_ATEXIT, NULL);
#ifdef __GLIBC__
  on_exit(end_now, NULL);
#endif
}
