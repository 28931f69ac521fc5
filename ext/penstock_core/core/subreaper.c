#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "subreaper.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#ifdef __linux__
#include <sys/prctl.h>
#ifndef PR_SET_CHILD_SUBREAPER
#define PR_SET_CHILD_SUBREAPER 36
#endif
#endif

int pk_subreaper_become(void) {
#ifdef __linux__
  return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

pid_t pk_subreaper_ended(void) {
  siginfo_t info;
  int result;

  do {
    memset(&info, 0, sizeof info);
    result = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
  } while (result < 0 && errno == EINTR);
  return result < 0 ? 0 : info.si_pid;
}
