/* What a meter counts, and what it takes for the time that the lock is held. */
#include <string.h>

#include "check.h"
#include "lock_meter.h"

#define MS 1000000

static void sleep_ms(long ms) {
  struct timespec time = {.tv_nsec = ms * MS};

  nanosleep(&time, NULL);
}

static void compute_ms(long ms) {
  struct timespec now;
  int64_t ends;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  ends = now.tv_sec * 1000000000LL + now.tv_nsec + ms * MS;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (now.tv_sec * 1000000000LL + now.tv_nsec < ends);
}

static void waits_count_while_busy(void) {
  pk_lock_meter_t *meter = pk_lock_meter_open();
  pk_lock_figures_t idle, busy, later;

  pk_lock_meter_ready(meter);
  sleep_ms(2);
  pk_lock_meter_resumed(meter);
  idle = pk_lock_meter_read(meter);
  CHECK(idle.busy_ns == 0 && idle.waited_ns == 0);

  pk_lock_meter_busy(meter);
  sleep_ms(2);
  pk_lock_meter_ready(meter);
  sleep_ms(2);
  busy = pk_lock_meter_read(meter); /* it still waits */
  CHECK(busy.waited_ns >= 2 * MS && busy.busy_ns >= 4 * MS && busy.waited_ns <= busy.busy_ns - 2 * MS);
  pk_lock_meter_resumed(meter);
  pk_lock_meter_resumed(meter); /* of no wait */
  pk_lock_meter_idle(meter);
  later = pk_lock_meter_read(meter);
  sleep_ms(2);
  CHECK(later.waited_ns >= busy.waited_ns && later.busy_ns >= busy.busy_ns);
  CHECK(pk_lock_meter_read(meter).busy_ns == later.busy_ns);
  pk_lock_meter_idle(meter); /* it is */
  CHECK(pk_lock_meter_read(meter).busy_ns == later.busy_ns);
  pk_lock_meter_close(meter);
}

static void busy_twice_begins_once(void) {
  pk_lock_meter_t *meter = pk_lock_meter_open();

  pk_lock_meter_busy(meter);
  sleep_ms(2);
  pk_lock_meter_busy(meter);
  pk_lock_meter_idle(meter);
  CHECK(pk_lock_meter_read(meter).busy_ns >= 2 * MS);
  pk_lock_meter_close(meter);
}

static void a_closed_meter_is_used_again_from_zero(void) {
  pk_lock_meter_t *first = pk_lock_meter_open(), *second = pk_lock_meter_open(), *third;

  CHECK(first != second);
  pk_lock_meter_busy(first);
  pk_lock_meter_ready(first);
  pk_lock_meter_close(first);
  third = pk_lock_meter_open();
  CHECK(third == first);
  CHECK(pk_lock_meter_read(third).busy_ns == 0 && pk_lock_meter_read(third).waited_ns == 0);
  pk_lock_meter_close(second);
  pk_lock_meter_close(third);
}

#ifdef __linux__
static void held_is_cpu_time_from_the_opening_on(void) {
  pk_lock_meter_t *meter;
  int64_t before, after;

  compute_ms(5);
  meter = pk_lock_meter_open();
  before = pk_lock_meter_read(meter).held_ns;
  CHECK(before >= 0 && before < 5 * MS);
  compute_ms(10);
  after = pk_lock_meter_read(meter).held_ns;
  CHECK(after - before >= 10 * MS);
  pk_lock_meter_close(meter);
}

static void another_process_doesnt_read_the_clock(void) {
  pk_lock_meter_t *meter = pk_lock_meter_open();
  int64_t held = pk_lock_meter_read(meter).held_ns;

  meter->pid++; /* as after a fork */
  compute_ms(2);
  CHECK(pk_lock_meter_read(meter).held_ns == held);
  pk_lock_meter_close(meter);
}
#endif

static void time_without_a_cpu_counts_as_far_as_the_thread_was_preempted(void) {
  pk_thread_usage_t before = {.cpu_ns = 100, .queued_ns = 1000, .yielded = 5, .preempted = 7}, after = before;

  CHECK(pk_lock_held_ns(&before, &after) == 0);
  after.cpu_ns += 50;
  after.queued_ns += 800;
  CHECK(pk_lock_held_ns(&before, &after) == 50); /* it wasn't switched off: the kernel counts nothing */
  after.yielded += 3;
  CHECK(pk_lock_held_ns(&before, &after) == 50); /* it waited for a CPU after other waits */
  after.preempted += 1;
  CHECK(pk_lock_held_ns(&before, &after) == 50 + 200);
}

int main(void) {
  waits_count_while_busy();
  busy_twice_begins_once();
  a_closed_meter_is_used_again_from_zero();
#ifdef __linux__
  held_is_cpu_time_from_the_opening_on();
  another_process_doesnt_read_the_clock();
#endif
  time_without_a_cpu_counts_as_far_as_the_thread_was_preempted();
  return report();
}
