#ifndef PK_THREAD_H
#define PK_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* The one place where the driver makes threads of its own. They block every
 * signal (Ruby's handlers belong to Ruby's threads), have small stacks, and a
 * name of at most 15 characters that shows in top and gdb. */

/* A thread that its maker joins. 0, or an errno. */
int pk_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg);

/* A detached thread that nobody joins: it must own everything it touches. */
int pk_thread_detach(const char *name, void *(*body)(void *), void *arg);

/* Runs destroy(arg) on a detached thread: for frees that come from the garbage
 * collector, which must not wait for a broker. 0, or an errno when no thread can be
 * made: the collector then leaks it, for it can neither wait nor fail; a close, which
 * can, destroys it itself. */
int pk_reap(void (*destroy)(void *), void *arg);

#endif
