#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "death_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_MS 50

/* The process that owns the watch: a fork copies the memory, but not the
 * thread. */
static struct {
  pid_t process;
  pthread_t thread;
  int fd, grace_ms;
  int quit[2];
} watch;

static long long now_ms(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Data that is written to the pipe by mistake isn't its end. */
static bool at_end(void) {
  char bytes[256];
  ssize_t size;

  do {
    size = read(watch.fd, bytes, sizeof bytes);
  } while (size > 0 || (size < 0 && errno == EINTR));
  return size == 0 || errno != EAGAIN;
}

/* A failed poll doesn't prove the end of the stream: the parent may be alive. */
static void wait_a_moment(void) {
  struct timespec moment = {.tv_nsec = AGAIN_MS * 1000000L};

  nanosleep(&moment, NULL);
}

/* True when the watch was disarmed, false at the timeout (-1: none) or the end
 * of the stream. */
static bool told_to_quit(bool stream, int timeout_ms) {
  struct pollfd both[2] = {{.fd = watch.quit[0], .events = POLLIN}, {.fd = watch.fd, .events = POLLIN}};
  long long ends = now_ms() + timeout_ms;

  for (;;) {
    long long left = timeout_ms < 0 ? -1 : ends - now_ms();

    if (timeout_ms >= 0 && left <= 0) return false;
    if (poll(both, stream ? 2 : 1, (int)left) < 0) {
      if (errno != EINTR) wait_a_moment();
      continue;
    }
    if (both[0].revents) return true;
    if (stream && both[1].revents && at_end()) return false;
  }
}

static void *watching(void *unused) {
  (void)unused;
  if (told_to_quit(true, -1)) return NULL;
  if (!told_to_quit(false, watch.grace_ms)) _exit(PK_ORPHANED);
  return NULL;
}

/* Blocks signals in this thread: they are for Ruby's threads. */
static int start_thread(void) {
  sigset_t all, before;
  int err;

  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  err = pthread_create(&watch.thread, NULL, watching, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return err;
}

static void close_quit(void) {
  close(watch.quit[0]);
  close(watch.quit[1]);
}

static int prepare(int fd, int grace_ms) {
  int flags = fcntl(fd, F_GETFL);

  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || pipe(watch.quit) < 0) return errno;
  fcntl(watch.quit[0], F_SETFD, FD_CLOEXEC);
  fcntl(watch.quit[1], F_SETFD, FD_CLOEXEC);
  watch.fd = fd;
  watch.grace_ms = grace_ms;
  return 0;
}

int pk_death_pipe_watch(int fd, int grace_ms) {
  int err;

  if (watch.process == getpid()) return EALREADY;
  if (watch.process) close_quit(); /* copies of the parent process's pipe */
  watch.process = 0;
  if ((err = prepare(fd, grace_ms))) return err;
  if ((err = start_thread())) {
    close_quit();
    return err;
  }
  watch.process = getpid();
  return 0;
}

void pk_death_pipe_disarm(void) {
  if (watch.process != getpid()) return;
  watch.process = 0;
  while (write(watch.quit[1], "", 1) < 0 && errno == EINTR) continue;
  pthread_join(watch.thread, NULL);
  close_quit();
}
