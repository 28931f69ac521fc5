/* A child of this process, as its parent knows it: signals reach it or nobody. */
#ifndef PK_CORE_CHILD_H
#define PK_CORE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* A pid is a child's only until it has been waited for; then the kernel may give it
 * to anybody. Where there are pidfds that can be waited for (Linux 5.4) signals go
 * through one. Elsewhere, and with PENSTOCK_NO_PIDFD in the environment, the child is
 * looked at first: as long as nobody has waited for it, its number stays its own.
 *
 * One thread uses it. It outlives the child, and knows how that one ended. */
typedef struct {
  pid_t pid;
  int fd;     /* readable when the child has ended; -1 without pidfds */
  bool ended; /* waited for */
  int code;   /* exit code, -1 when a signal ended it or somebody else waited */
  int signal; /* the one that ended it, else 0 */
} pk_child_t;

void pk_child_open(pk_child_t *child, pid_t pid);

/* Waits for it if it has ended; never blocks. True once it has. */
bool pk_child_reap(pk_child_t *child);

/* Whether it was sent: 0, or an errno; ESRCH when the child has ended. */
int pk_child_signal(pk_child_t *child, int signal);

/* Closes the descriptor. The child goes on. */
void pk_child_close(pk_child_t *child);

#endif
