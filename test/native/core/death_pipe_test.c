#define _GNU_SOURCE
/* Processes whose parent closes the pipe, or doesn't. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "death_pipe.h"

#define GRACE_MS 300

static int pipe_of[2];
static volatile int polls_to_fail;

#ifdef __linux__
/* Replaces the C library's poll for the watch: some calls fail as if memory
 * were short. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
  struct timespec timeout = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};

  if (polls_to_fail > 0) {
    polls_to_fail--;
    errno = ENOMEM;
    return -1;
  }
  return ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}
#endif

/* A child that holds only the read end, and spins. */
static pid_t spinning(void) {
  pid_t pid = fork();

  if (pid) return pid;
  close(pipe_of[1]);
  if (pk_death_pipe_watch(pipe_of[0], GRACE_MS)) _exit(50);
  if (pk_death_pipe_watch(pipe_of[0], GRACE_MS) != EALREADY) _exit(51);
  for (volatile unsigned long spins = 0;; spins++) continue;
}

static int code_of(pid_t pid) {
  int status = 0;

  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_end_of_the_stream(void) {
  pid_t pid;

  CHECK(pipe(pipe_of) == 0);
  pid = spinning();
  close(pipe_of[0]);
  CHECK(write(pipe_of[1], "by mistake", 10) == 10);
  usleep(2 * GRACE_MS * 1000);
  CHECK(waitpid(pid, NULL, WNOHANG) == 0);
  close(pipe_of[1]);
  CHECK(code_of(pid) == PK_ORPHANED);
}

/* A failed poll isn't the end of the stream. */
static void test_failed_polls(void) {
  polls_to_fail = 3;
  test_end_of_the_stream();
  polls_to_fail = 0;
}

static pid_t disarming(bool in_the_grace) {
  pid_t pid = fork();

  if (pid) return pid;
  if (pk_death_pipe_watch(pipe_of[0], GRACE_MS)) _exit(50);
  if (in_the_grace) {
    close(pipe_of[1]);
    usleep(GRACE_MS * 100);
  }
  pk_death_pipe_disarm();
  pk_death_pipe_disarm();
  if (!in_the_grace) close(pipe_of[1]);
  usleep(2 * GRACE_MS * 1000);
  if (pk_death_pipe_watch(pipe_of[0], GRACE_MS)) _exit(51); /* it may begin again */
  pk_death_pipe_disarm();
  _exit(0);
}

static void test_disarmed(bool in_the_grace) {
  pid_t pid;

  CHECK(pipe(pipe_of) == 0);
  pid = disarming(in_the_grace);
  close(pipe_of[0]);
  close(pipe_of[1]);
  CHECK(code_of(pid) == 0);
}

/* A watch isn't inherited, and ending it in the child doesn't affect the
 * parent's. */
static void test_fork_has_none(void) {
  pid_t pid;

  CHECK(pipe(pipe_of) == 0);
  CHECK(pk_death_pipe_watch(pipe_of[0], GRACE_MS) == 0);
  if ((pid = fork()) == 0) {
    pk_death_pipe_disarm();
    _exit(pk_death_pipe_watch(pipe_of[0], GRACE_MS));
  }
  CHECK(code_of(pid) == 0);
  pk_death_pipe_disarm();
  close(pipe_of[0]);
  close(pipe_of[1]);
}

int main(void) {
  test_end_of_the_stream();
  test_failed_polls();
  test_disarmed(false);
  test_disarmed(true);
  test_fork_has_none();
  CHECK(pk_death_pipe_watch(9999, GRACE_MS) == EBADF);
  return report();
}
