#ifndef PK_THREAD_H
#define PK_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Creates the driver's own threads. They block every signal (Ruby's handlers
 * belong to Ruby's threads), have small stacks, and a name of at most 15
 * characters that top and gdb show. */

/* A thread that its creator joins. 0, or an errno. */
int pk_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg);

/* A detached thread that is never joined: it must own everything it uses. */
int pk_thread_detach(const char *name, void *(*body)(void *), void *arg);

/* Runs destroy(arg) on a detached thread: for frees during garbage collection,
 * which must not wait for a broker. 0, or an errno if no thread can be created:
 * the garbage collector then leaks the object, since it can neither wait nor
 * fail; a close can, and destroys it itself. */
int pk_reap(void (*destroy)(void *), void *arg);

#endif
