#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "lock_meter.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#define SECOND_NS 1000000000

static pk_lock_meter_t *free_meters;

static int64_t nanoseconds(struct timespec time) {
  return (int64_t)time.tv_sec * SECOND_NS + time.tv_nsec;
}

static int64_t now_ns(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}

#ifdef __linux__
static bool find_clock(pk_lock_meter_t *meter) {
  if (pthread_getcpuclockid(pthread_self(), &meter->cpu_clock)) return false;
  meter->tid = (pid_t)syscall(SYS_gettid);
  return true;
}

/* Reads a file about the thread; an empty text if there is none. */
static void read_about(pid_t tid, const char *name, char *text, size_t capacity) {
  char path[64];
  ssize_t size = 0;
  int fd;

  snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)tid, name);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    size = read(fd, text, capacity - 1);
    close(fd);
  }
  text[size > 0 ? size : 0] = '\0';
}

static int64_t number_after(const char *text, const char *name) {
  const char *found = strstr(text, name);

  return found ? (int64_t)strtoull(found + strlen(name), NULL, 10) : 0;
}

/* Where the kernel doesn't count it, a thread is taken to be queued never. */
static void find_queued(pk_lock_meter_t *meter, pk_thread_usage_t *usage) {
  char text[8192];

  read_about(meter->tid, "schedstat", text, sizeof text); /* CPU time, queued time, count */
  usage->queued_ns = number_after(text, " ");
  read_about(meter->tid, "status", text, sizeof text);
  usage->yielded = number_after(text, "\nvoluntary_ctxt_switches:");
  usage->preempted = number_after(text, "\nnonvoluntary_ctxt_switches:");
}

static bool find_usage(pk_lock_meter_t *meter, pk_thread_usage_t *usage) {
  struct timespec cpu;

  if (clock_gettime(meter->cpu_clock, &cpu)) return false;
  usage->cpu_ns = nanoseconds(cpu);
  find_queued(meter, usage);
  return true;
}
#else
static bool find_clock(pk_lock_meter_t *meter) { return false; }

static bool find_usage(pk_lock_meter_t *meter, pk_thread_usage_t *usage) { return false; }
#endif

int64_t pk_lock_held_ns(const pk_thread_usage_t *before, const pk_thread_usage_t *after) {
  int64_t preempted = after->preempted - before->preempted;
  int64_t times = preempted + after->yielded - before->yielded;
  int64_t queued_ns = after->queued_ns - before->queued_ns;
  int64_t held_ns = after->cpu_ns - before->cpu_ns;

  if (preempted <= 0 || times <= 0) return held_ns;
  return held_ns + (int64_t)((double)queued_ns * (double)preempted / (double)times);
}

/* After a fork the clock is that of a thread of the parent. */
static void add_held(pk_lock_meter_t *meter) {
  pk_thread_usage_t usage = {0};

  if (meter->held_ns < 0 || meter->pid != getpid() || !find_usage(meter, &usage)) return;
  meter->held_ns += pk_lock_held_ns(&meter->usage, &usage);
  meter->usage = usage;
}

pk_lock_meter_t *pk_lock_meter_open(void) {
  pk_lock_meter_t *meter = free_meters;

  if (meter)
    free_meters = meter->next;
  else if (!(meter = malloc(sizeof *meter)))
    return NULL;
  memset(meter, 0, sizeof *meter);
  meter->pid = getpid();
  if (!find_clock(meter) || !find_usage(meter, &meter->usage)) meter->held_ns = -1;
  return meter;
}

void pk_lock_meter_close(pk_lock_meter_t *meter) {
  meter->next = free_meters;
  free_meters = meter;
}

void pk_lock_meter_busy(pk_lock_meter_t *meter) {
  if (!meter->busy_since_ns) meter->busy_since_ns = now_ns();
}

void pk_lock_meter_idle(pk_lock_meter_t *meter) {
  if (meter->busy_since_ns) meter->busy_ns += now_ns() - meter->busy_since_ns;
  meter->busy_since_ns = 0;
}

void pk_lock_meter_ready(pk_lock_meter_t *meter) {
  atomic_store_explicit(&meter->ready_ns, now_ns(), memory_order_relaxed);
}

void pk_lock_meter_resumed(pk_lock_meter_t *meter) {
  int64_t ready_ns = atomic_exchange_explicit(&meter->ready_ns, 0, memory_order_relaxed);

  if (ready_ns && meter->busy_since_ns) meter->waited_ns += now_ns() - ready_ns;
}

pk_lock_figures_t pk_lock_meter_read(pk_lock_meter_t *meter) {
  int64_t now = now_ns(), ready_ns = atomic_load_explicit(&meter->ready_ns, memory_order_relaxed);
  pk_lock_figures_t figures = {.busy_ns = meter->busy_ns, .waited_ns = meter->waited_ns};

  if (meter->busy_since_ns) {
    figures.busy_ns += now - meter->busy_since_ns;
    if (ready_ns && now > ready_ns) figures.waited_ns += now - ready_ns; /* it may have become ready since `now` */
  }
  add_held(meter);
  figures.held_ns = meter->held_ns;
  return figures;
}
