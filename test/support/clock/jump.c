/* The wall clock of a process that may be set while it runs: loaded before the C library (LD_PRELOAD). CLOCK_JUMP_FILE holds the
 * ms by which it is off, as text; it is read at each call. The monotonic clock isn't changed.
 *
 * Waits until a time of the wall clock end when *that* clock has reached it, as with a real one: set back by an hour, they last an
 * hour longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS (20 * 1000000LL)
/* No machine is up for so long that they overlap: times of the monotonic clock are below, those of the wall clock above. */
#define WALL_FROM_S 1000000000LL

static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_cnd_timedwait)(cnd_t *, mtx_t *, const struct timespec *);

__attribute__((constructor)) static void find_real(void) {
  real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  real_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!real_timedwait) real_timedwait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  real_cnd_timedwait = dlsym(RTLD_NEXT, "cnd_timedwait");
}

static long long offset_ns(void) {
  static const char *path;
  if (!path) path = getenv("CLOCK_JUMP_FILE");
  char text[32] = {0};
  int error = errno;
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
    close(fd);
  }
  errno = error;
  return atoll(text) * 1000000LL;
}

static long long to_ns(const struct timespec *time) { return time->tv_sec * 1000000000LL + time->tv_nsec; }

static struct timespec from_ns(long long ns) {
  return (struct timespec){.tv_sec = ns / 1000000000LL, .tv_nsec = ns % 1000000000LL};
}

static long long real_now(void) {
  struct timespec now;
  if (!real_gettime) find_real();
  real_gettime(CLOCK_REALTIME, &now);
  return to_ns(&now);
}

int clock_gettime(clockid_t id, struct timespec *time) {
  if (!real_gettime) find_real();
  if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE) return real_gettime(id, time);
  *time = from_ns(real_now() + offset_ns());
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  long long ns = real_now() + offset_ns();
  time->tv_sec = ns / 1000000000LL;
  time->tv_usec = ns % 1000000000LL / 1000;
  return 0;
}

int timespec_get(struct timespec *time, int base) {
  *time = from_ns(real_now() + offset_ns());
  return base;
}

time_t time(time_t *seconds) {
  time_t now = (real_now() + offset_ns()) / 1000000000LL;
  if (seconds) *seconds = now;
  return now;
}

/* The end of the next slice of a wait, by the real clock; false when the wait has ended. */
static bool next_slice(const struct timespec *until, struct timespec *slice) {
  long long now = real_now();
  long long left = to_ns(until) - (now + offset_ns());
  if (left <= 0) return false;
  *slice = from_ns(now + (left < SLICE_NS ? left : SLICE_NS));
  return true;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
  if (!real_timedwait) find_real();
  if (until->tv_sec < WALL_FROM_S) return real_timedwait(cond, mutex, until);
  struct timespec slice;
  int result = ETIMEDOUT;
  while (result == ETIMEDOUT && next_slice(until, &slice)) result = real_timedwait(cond, mutex, &slice);
  return result;
}

/* C11's own function, which librdkafka uses: always the wall clock. */
int cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *until) {
  if (!real_cnd_timedwait) find_real();
  struct timespec slice;
  int result = thrd_timedout;
  while (result == thrd_timedout && next_slice(until, &slice)) result = real_cnd_timedwait(cond, mutex, &slice);
  return result;
}
