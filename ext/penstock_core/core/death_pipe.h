/* Ends a process when its parent has died. */
#ifndef PK_CORE_DEATH_PIPE_H
#define PK_CORE_DEATH_PIPE_H

#define PK_ORPHANED 3

/* Watches the read end of a pipe whose write end only the parent holds, on a
 * thread of its own that doesn't need Ruby: grace_ms after the end of the
 * stream it ends the process with _exit(3), even if the process is busy. It
 * sends no request to stop: code that wants to use the grace time reads the
 * same pipe.
 *
 * At most one watch per process; a forked child has none and may start its own.
 * The caller owns the descriptor and must not close it before
 * pk_death_pipe_disarm. Returns 0 or an errno. */
int pk_death_pipe_watch(int fd, int grace_ms);

/* Ends the watch. Waits briefly for the thread. Does nothing if there is no
 * watch. */
void pk_death_pipe_disarm(void);

#endif
