#ifndef PK_NOGVL_H
#define PK_NOGVL_H

#include <ruby.h>
#include <ruby/thread.h>

/* Every call that may block runs without the GVL, as a triple: x_args (a struct
 * on the caller's stack), x_safe (the work: no Ruby, no exception), x_nogvl (the
 * crossing). Each has an unblock function that really ends the wait.
 *
 *   call                      unblocked by
 *   consumer wait             a write to the consumer's wake descriptor
 *   consumer take, touch      nothing: never waits, bounded by the counts given
 *   consumer answer, seek, …  nothing: an operation for librdkafka's main
 *                             thread, which answers without the network
 *   consumer close            a flag looked at every slice, and the wake
 *   blocking queries          the waiter's condvar; the query itself is left to
 *                             end alone on its own thread (core/query.h)
 *   handle begin_close        its deadline; the calls inside are woken first
 *   transaction calls         their asker's park, from a signal handler too; the
 *                             call goes on alone on the producer's thread for
 *                             them (core/transaction.h)
 *   delivery wait             its park (core/park.h), from a signal handler too
 *   producer …                see producer.c
 *
 * rb_thread_call_without_gvl2 is used everywhere: it looks for interrupts before
 * the call (then it doesn't call at all and answers NULL) and never after it, so
 * nothing can be raised between taking data and owning it. The caller looks with
 * rb_thread_check_ints() when it owns what it took. */

/* Runs fn(arg) exactly once without the GVL. Pending interrupts are raised
 * before it runs, never after. Nothing that needs freeing may be held by the
 * caller unless Ruby owns it. */
static inline void *pk_without_gvl(void *(*fn)(void *), void *arg, rb_unblock_function_t *unblock, void *unblock_arg) {
  void *result;

  while (!(result = rb_thread_call_without_gvl2(fn, arg, unblock, unblock_arg))) rb_thread_check_ints();
  return result; /* so every x_safe answers something that isn't NULL */
}

/* The same for an unblock function that a signal handler may run: atomics and
 * write(2), no lock. Said so, Ruby calls it right there; otherwise a process with
 * one thread starts another for each such call, only to be able to unblock it. */
static inline void *pk_without_gvl_async(void *(*fn)(void *), void *arg, rb_unblock_function_t *unblock,
                                         void *unblock_arg) {
  void *result;

  while (!(result = rb_nogvl(fn, arg, unblock, unblock_arg, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE))) {
    rb_thread_check_ints();
  }
  return result;
}

/* The same for paths that may not raise (a call is counted, memory is held):
 * without an unblock function, whatever interrupts are pending. Falls back to
 * running with the GVL when they prevent the crossing. */
static inline void pk_without_gvl_noraise(void *(*fn)(void *), void *arg) {
  if (!rb_thread_call_without_gvl2(fn, arg, NULL, NULL)) fn(arg);
}

static inline VALUE pk_check_ints(VALUE unused) {
  rb_thread_check_ints();
  return unused;
}

/* Runs fn(arg) exactly once and without the GVL, whatever interrupts are pending: for a
 * close, which waits for calls that need the GVL to leave. Signal handlers run first.
 * What the others raise is swallowed until then: 0, or a state to jump with. */
static inline int pk_without_gvl_first(void *(*fn)(void *), void *arg) {
  int interrupted = 0, state;

  while (!rb_thread_call_without_gvl2(fn, arg, NULL, NULL)) {
    rb_protect(pk_check_ints, Qnil, &state);
    if (state) interrupted = state;
  }
  return interrupted;
}

#endif
