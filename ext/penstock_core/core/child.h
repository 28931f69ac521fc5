/* A child of this process: signals reach this child or nobody. */
#ifndef PK_CORE_CHILD_H
#define PK_CORE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* A pid belongs to a child only until the child has been waited for; then the
 * kernel may reuse it. Where there are pidfds that can be waited for (Linux
 * 5.4) signals go through one. Elsewhere, and with PENSTOCK_NO_PIDFD in the
 * environment, the child is checked first: until it has been waited for, its
 * pid isn't reused.
 *
 * Used by one thread. It stays valid after the child's end, and knows how it
 * ended. */
typedef struct {
  pid_t pid;
  int fd;     /* readable once the child has ended; -1 without pidfds */
  bool ended; /* waited for */
  int code;   /* exit code, -1 if a signal ended it or other code waited for it */
  int signal; /* the signal that ended it, else 0 */
} pk_child_t;

void pk_child_open(pk_child_t *child, pid_t pid);

/* Waits for the child if it has ended; never blocks. True once it has ended. */
bool pk_child_reap(pk_child_t *child);

/* 0 if the signal was sent, else an errno; ESRCH when the child has ended. */
int pk_child_signal(pk_child_t *child, int signal);

/* Closes the descriptor. The child keeps running. */
void pk_child_close(pk_child_t *child);

#endif
