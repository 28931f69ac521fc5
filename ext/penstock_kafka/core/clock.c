#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

int64_t pk_now_ms(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t pk_deadline(int64_t timeout_ms) {
  int64_t now = pk_now_ms();

  if (timeout_ms < 0 || timeout_ms > PK_NO_DEADLINE - now) return PK_NO_DEADLINE;
  return now + timeout_ms;
}

int pk_remaining_ms(int64_t deadline_ms) {
  int64_t left;

  if (deadline_ms == PK_NO_DEADLINE) return INT_MAX;
  left = deadline_ms - pk_now_ms();
  if (left <= 0) return 0;
  return left > INT_MAX ? INT_MAX : (int)left;
}

#ifdef __APPLE__

/* There is no pthread_condattr_setclock; the relative wait is monotonic. */
void pk_cond_init(pthread_cond_t *cond) {
  pthread_cond_init(cond, NULL);
}

bool pk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ms) {
  struct timespec relative;
  int left;

  if (deadline_ms == PK_NO_DEADLINE) return pthread_cond_wait(cond, mutex) == 0;
  left = pk_remaining_ms(deadline_ms);
  if (left == 0) return false;
  relative.tv_sec = left / 1000;
  relative.tv_nsec = (long)(left % 1000) * 1000000;
  return pthread_cond_timedwait_relative_np(cond, mutex, &relative) != ETIMEDOUT;
}

#else

void pk_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t attr;

  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(cond, &attr);
  pthread_condattr_destroy(&attr);
}

bool pk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ms) {
  struct timespec until;

  if (deadline_ms == PK_NO_DEADLINE) return pthread_cond_wait(cond, mutex) == 0;
  until.tv_sec = deadline_ms / 1000;
  until.tv_nsec = (long)(deadline_ms % 1000) * 1000000;
  return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

#endif
