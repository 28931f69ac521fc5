/* Grandchildren whose parent ended are this process's children, and looking for
 * them doesn't wait for them. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "subreaper.h"

/* A process forked by a go-between that has ended when this returns. */
static pid_t adopted(int code) {
  int told[2];
  pid_t between, pid = 0;

  if (pipe(told) < 0) return -1;
  between = fork();
  if (between == 0) {
    pid = fork();
    if (pid == 0) _exit(code);
    _exit(write(told[1], &pid, sizeof pid) == sizeof pid ? 0 : 1);
  }
  CHECK(read(told[0], &pid, sizeof pid) == sizeof pid);
  CHECK(waitpid(between, NULL, 0) == between);
  close(told[0]);
  close(told[1]);
  return pid;
}

static pid_t seen(void) {
  for (int i = 0; i < 20000; i++) {
    pid_t pid = pk_subreaper_ended();

    if (pid) return pid;
    usleep(1000);
  }
  return 0;
}

int main(void) {
  pid_t pid;
  int status = 0;

  CHECK(pk_subreaper_ended() == 0);
  CHECK(pk_subreaper_become() == 0);
  pid = adopted(7);
  CHECK(seen() == pid);
  CHECK(seen() == pid);
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  CHECK(pk_subreaper_ended() == 0);
  return report();
}
