/* The end of a process whose parent is gone. */
#ifndef PK_CORE_DEATH_PIPE_H
#define PK_CORE_DEATH_PIPE_H

#define PK_ORPHANED 3

/* Watches the reading end of a pipe whose writing end the parent alone holds, on a
 * thread of its own that needs nothing of Ruby: grace_ms after the end of the stream
 * the process ends with _exit(3), whatever it does. Nobody is asked to stop: whoever
 * wants to use the grace reads the same pipe.
 *
 * One watch a process; a fork's child has none and may begin its own. The descriptor
 * stays the caller's, who must not close it before pk_death_pipe_disarm. Answers 0
 * or an errno. */
int pk_death_pipe_watch(int fd, int grace_ms);

/* Ends the watch: from here on the process ends by itself. Waits for the thread, a
 * moment. Does nothing where there is no watch. */
void pk_death_pipe_disarm(void);

#endif
