#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The numbers and idtype are newer than the headers of many C libraries. */
#if defined(__linux__) && !defined(PENSTOCK_NO_PIDFD)
#define PK_PIDFD 1
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#define PK_P_PIDFD ((idtype_t)3)
#endif

static bool switched_off(void) {
  const char *value = getenv("PENSTOCK_NO_PIDFD");

  return value && *value && strcmp(value, "0") != 0;
}

/* -1 on old kernels, and where a sandbox forbids it. The descriptor is closed
 * on exec. */
static int descriptor_of(pid_t pid) {
#ifdef PK_PIDFD
  if (!switched_off()) return (int)syscall(SYS_pidfd_open, pid, 0);
#endif
  (void)pid;
  return -1;
}

static int wait_for(idtype_t type, id_t id, int options, siginfo_t *info) {
  int result;

  do {
    memset(info, 0, sizeof *info);
    result = waitid(type, id, info, WEXITED | WNOHANG | options);
  } while (result < 0 && errno == EINTR);
  return result;
}

/* A descriptor is only useful where it can also be waited for: a 5.3 kernel has
 * only one of the two calls, and a sandbox may allow only one. */
void pk_child_open(pk_child_t *child, pid_t pid) {
  *child = (pk_child_t){.pid = pid, .fd = -1, .code = -1};
  if (pid <= 0) return;
  child->fd = descriptor_of(pid);
#ifdef PK_PIDFD
  siginfo_t info;

  if (child->fd < 0 || wait_for(PK_P_PIDFD, (id_t)child->fd, WNOWAIT, &info) == 0) return;
  if (errno != ECHILD) pk_child_close(child);
#endif
}

/* Returns 1 if it has ended; 0 if it is alive, as far as the kernel reports; -1
 * if it can't be waited for. Only ECHILD means -1: a child reaped while alive
 * would then exist twice. */
static int look(const pk_child_t *child, int options, siginfo_t *info) {
  int result;

#ifdef PK_PIDFD
  if (child->fd >= 0)
    result = wait_for(PK_P_PIDFD, (id_t)child->fd, options, info);
  else
#endif
    result = wait_for(P_PID, (id_t)child->pid, options, info);
  if (result < 0) return errno == ECHILD ? -1 : 0;
  return info->si_pid == 0 ? 0 : 1;
}

static void note(pk_child_t *child, const siginfo_t *info) {
  if (info->si_code == CLD_EXITED)
    child->code = info->si_status;
  else
    child->signal = info->si_status;
}

bool pk_child_reap(pk_child_t *child) {
  siginfo_t info;
  int result;

  if (child->ended) return true;
  result = look(child, 0, &info);
  if (result == 0) return false;
  if (result > 0) note(child, &info);
  child->ended = true; /* other code waited for it: how it ended is unknown */
  return true;
}

int pk_child_signal(pk_child_t *child, int signal) {
  siginfo_t info;

  if (child->ended) return ESRCH;
#ifdef PK_PIDFD
  if (child->fd >= 0) return syscall(SYS_pidfd_send_signal, child->fd, signal, NULL, 0) == 0 ? 0 : errno;
#endif
  if (look(child, WNOWAIT, &info) != 0) return ESRCH;
  return kill(child->pid, signal) == 0 ? 0 : errno;
}

void pk_child_close(pk_child_t *child) {
  if (child->fd >= 0) close(child->fd);
  child->fd = -1;
}
