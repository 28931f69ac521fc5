#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "thread.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define PK_STACK_BYTES (256 * 1024)
#define PK_NAME_BYTES 16

typedef struct {
  char name[PK_NAME_BYTES];
  void *(*body)(void *);
  void *arg;
} pk_birth_t;

static void *pk_thread_main(void *ptr) {
  pk_birth_t birth = *(pk_birth_t *)ptr;

  free(ptr);
#if defined(__APPLE__)
  pthread_setname_np(birth.name);
#elif defined(__linux__)
  pthread_setname_np(pthread_self(), birth.name);
#endif
  return birth.body(birth.arg);
}

/* A fault whose signal is blocked ends the process without the line of crash.h. */
static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/* Signals are blocked around the creation, so that the child inherits the
 * mask and no signal can hit it before it could block them itself. */
static int pk_thread_create(pthread_t *thread, bool detached, pk_birth_t *birth) {
  pthread_attr_t attr;
  sigset_t all, before;
  int err;

  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, PK_STACK_BYTES < PTHREAD_STACK_MIN ? PTHREAD_STACK_MIN : PK_STACK_BYTES);
  if (detached) pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  err = pthread_create(thread, &attr, pk_thread_main, birth);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  return err;
}

static int pk_thread_spawn(pthread_t *thread, bool detached, const char *name, void *(*body)(void *), void *arg) {
  pk_birth_t *birth = malloc(sizeof *birth);
  int err;

  if (!birth) abort();
  snprintf(birth->name, sizeof birth->name, "%s", name);
  birth->body = body;
  birth->arg = arg;
  err = pk_thread_create(thread, detached, birth);
  if (err) free(birth);
  return err;
}

int pk_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg) {
  return pk_thread_spawn(thread, false, name, body, arg);
}

int pk_thread_detach(const char *name, void *(*body)(void *), void *arg) {
  pthread_t thread;

  return pk_thread_spawn(&thread, true, name, body, arg);
}

typedef struct {
  void (*destroy)(void *);
  void *arg;
} pk_grave_t;

static void *pk_reaper_main(void *ptr) {
  pk_grave_t grave = *(pk_grave_t *)ptr;

  free(ptr);
  grave.destroy(grave.arg);
  return NULL;
}

int pk_reap(void (*destroy)(void *), void *arg) {
  pk_grave_t *grave = malloc(sizeof *grave);
  int err;

  if (!grave) return ENOMEM;
  grave->destroy = destroy;
  grave->arg = arg;
  err = pk_thread_detach("pk:reaper", pk_reaper_main, grave);
  if (err) free(grave);
  return err;
}
