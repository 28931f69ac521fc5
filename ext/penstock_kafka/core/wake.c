#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "wake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#if defined(__linux__) && !defined(PENSTOCK_NO_EVENTFD)
#define PK_EVENTFD 1
#include <sys/eventfd.h>
#endif

#ifndef PK_EVENTFD
static int pk_wake_prepare_fd(int fd) {
  int flags = fcntl(fd, F_GETFL);

  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return errno;
  return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? errno : 0;
}
#endif

static int pk_wake_open(int fds[2]) {
#ifdef PK_EVENTFD
  fds[0] = fds[1] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fds[0] < 0 ? errno : 0;
#else
  int err;

  if (pipe(fds) < 0) return errno;
  if (!(err = pk_wake_prepare_fd(fds[0])) && !(err = pk_wake_prepare_fd(fds[1]))) return 0;
  close(fds[0]);
  close(fds[1]);
  return err;
#endif
}

int pk_wake_init(pk_wake_t *wake) {
  int fds[2] = {-1, -1};
  int err = pk_wake_open(fds);

  atomic_init(&wake->signalled, 0);
  atomic_init(&wake->write_fd, err ? -1 : fds[1]);
  atomic_init(&wake->writers, 0);
  wake->read_fd = err ? -1 : fds[0];
  return err;
}

static void pk_wake_close_fds(pk_wake_t *wake, int write_fd) {
  if (write_fd >= 0 && write_fd != wake->read_fd) close(write_fd);
  if (wake->read_fd >= 0) close(wake->read_fd);
  wake->read_fd = -1;
}

void pk_wake_close(pk_wake_t *wake) {
  int write_fd = atomic_exchange(&wake->write_fd, -1);

  while (atomic_load(&wake->writers)) sched_yield();
  pk_wake_close_fds(wake, write_fd);
}

void pk_wake_forget(pk_wake_t *wake) {
  pk_wake_close_fds(wake, atomic_exchange(&wake->write_fd, -1));
}

static void pk_wake_write(pk_wake_t *wake) {
  static const uint64_t one = 1;
  int fd;

  atomic_fetch_add(&wake->writers, 1);
  fd = atomic_load(&wake->write_fd);
  while (fd >= 0 && write(fd, &one, sizeof one) < 0 && errno == EINTR) continue;
  atomic_fetch_sub(&wake->writers, 1);
}

void pk_wake_signal(pk_wake_t *wake) {
  int saved_errno = errno;

  if (!atomic_exchange(&wake->signalled, 1)) pk_wake_write(wake);
  errno = saved_errno;
}

/* The descriptor is emptied before the flag is cleared. The other way round, a
 * signal between the two would be read with its flag left set, and no later one
 * would ever be written. */
void pk_wake_drain(pk_wake_t *wake) {
  uint64_t counter;

  while (read(wake->read_fd, &counter, sizeof counter) < 0 && errno == EINTR) continue;
  atomic_store(&wake->signalled, 0);
}

bool pk_wake_take(pk_wake_t *wake) {
  if (!atomic_load(&wake->signalled)) return false;
  pk_wake_drain(wake);
  return true;
}

bool pk_wake_wait(pk_wake_t *wake, int timeout_ms) {
  struct pollfd fd = {.fd = wake->read_fd, .events = POLLIN};

  if (pk_wake_take(wake)) return true;
  if (timeout_ms == 0 || poll(&fd, 1, timeout_ms < 0 ? -1 : timeout_ms) <= 0) return false;
  if (pk_wake_take(wake)) return true;
  /* Written by a signaller whose flag an earlier take has already cleared. */
  while (read(wake->read_fd, &(uint64_t){0}, sizeof(uint64_t)) < 0 && errno == EINTR) continue;
  return true;
}
