/* Children with and without pidfds: signals, ends, and a process id that was
 * reused. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"

static pid_t sleeper(void) {
  pid_t pid = fork();

  if (pid == 0) {
    for (;;) pause();
  }
  return pid;
}

static pid_t quitter(int code) {
  pid_t pid = fork();

  if (pid == 0) _exit(code);
  return pid;
}

static bool reaped(pk_child_t *child) {
  for (int i = 0; i < 20000; i++) {
    if (pk_child_reap(child)) return true;
    usleep(1000);
  }
  return false;
}

static void test_signal_and_end(bool pidfds) {
  pk_child_t child;

  pk_child_open(&child, sleeper());
  CHECK(!pidfds || child.fd >= 0);
  CHECK(pidfds || child.fd < 0);
  CHECK(!pk_child_reap(&child));
  CHECK(pk_child_signal(&child, 0) == 0);
  CHECK(pk_child_signal(&child, SIGTERM) == 0);
  CHECK(reaped(&child) && child.signal == SIGTERM && child.code == -1);
  CHECK(pk_child_reap(&child));
  CHECK(pk_child_signal(&child, SIGTERM) == ESRCH);
  pk_child_close(&child);
  CHECK(child.fd == -1);
}

static void test_exit_code(void) {
  pk_child_t child;

  pk_child_open(&child, quitter(7));
  CHECK(reaped(&child) && child.code == 7 && child.signal == 0);
  pk_child_close(&child);
}

static void test_readable_at_the_end(void) {
  pk_child_t child;
  struct pollfd end;

  pk_child_open(&child, sleeper());
  end = (struct pollfd){.fd = child.fd, .events = POLLIN};
  CHECK(poll(&end, 1, 0) == 0);
  pk_child_signal(&child, SIGKILL);
  CHECK(poll(&end, 1, 20000) == 1);
  CHECK(pk_child_reap(&child) && child.signal == SIGKILL);
  pk_child_close(&child);
}

/* Other code waited: the process id is free, and may belong to another process. */
static void test_waited_for_by_somebody_else(void) {
  pk_child_t child;
  pid_t pid = quitter(0);

  pk_child_open(&child, pid);
  CHECK(waitpid(pid, NULL, 0) == pid);
  CHECK(pk_child_signal(&child, SIGTERM) == ESRCH);
  CHECK(pk_child_reap(&child) && child.code == -1 && child.signal == 0);
  pk_child_close(&child);
}

/* A process that isn't our child simulates one that got the same id. */
static void test_not_a_child(void) {
  pk_child_t child;

  pk_child_open(&child, getppid());
  CHECK(pk_child_reap(&child));
  CHECK(pk_child_signal(&child, SIGTERM) == ESRCH);
  pk_child_close(&child);
}

int main(void) {
  test_signal_and_end(true);
  test_exit_code();
  test_readable_at_the_end();
  test_waited_for_by_somebody_else();
  setenv("PENSTOCK_NO_PIDFD", "1", 1);
  test_signal_and_end(false);
  test_exit_code();
  test_waited_for_by_somebody_else();
  test_not_a_child();
  return report();
}
