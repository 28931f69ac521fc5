#ifndef PK_NOGVL_H
#define PK_NOGVL_H

#include <ruby.h>
#include <ruby/thread.h>

/* Every call that may block runs without the GVL, as a triple: x_args (a struct
 * on the caller's stack), x_safe (the work: no Ruby, no exception), x_nogvl
 * (releases the GVL). Each has an unblock function that really ends the wait.
 *
 *   call                      unblocked by
 *   consumer wait             a write to the consumer's wake descriptor
 *   consumer take, touch      nothing: never waits, bounded by the counts given
 *   consumer answer, seek, …  nothing: an operation for librdkafka's main
 *                             thread, which answers without the network
 *   consumer close            a flag checked every slice, and the wake
 *   blocking queries          the caller's condition variable; the query itself
 *                             ends later on its own thread (core/query.h)
 *   handle begin_close        its deadline; the calls inside are woken first
 *   transaction calls         their caller's event flags, from a signal handler
 *                             too; the call itself continues on the producer's
 *                             thread for them (core/transaction.h)
 *   delivery wait             its event flags (core/event_flags.h), from a signal
 *                             handler too
 *   producer …                see producer.c
 *
 * rb_thread_call_without_gvl2 is used everywhere: it checks for interrupts
 * before the call (then it doesn't make the call and returns NULL) and never
 * after it, so nothing can raise between taking data and owning it. The caller
 * calls rb_thread_check_ints() once it owns the data. */

/* Runs fn(arg) exactly once without the GVL. Pending interrupts are raised
 * before it runs, never after. The caller may not hold anything that needs
 * freeing unless Ruby owns it. */
static inline void *pk_without_gvl(void *(*fn)(void *), void *arg, rb_unblock_function_t *unblock, void *unblock_arg) {
  void *result;

  while (!(result = rb_thread_call_without_gvl2(fn, arg, unblock, unblock_arg))) rb_thread_check_ints();
  return result; /* so every x_safe returns something other than NULL */
}

/* The same for an unblock function that may run in a signal handler: atomics
 * and write(2), no lock. Then Ruby calls it directly; otherwise a process with
 * one thread starts another for each such call, only to be able to unblock it. */
static inline void *pk_without_gvl_async(void *(*fn)(void *), void *arg, rb_unblock_function_t *unblock,
                                         void *unblock_arg) {
  void *result;

  while (!(result = rb_nogvl(fn, arg, unblock, unblock_arg, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE))) {
    rb_thread_check_ints();
  }
  return result;
}

/* The same for code that may not raise (a call is counted, memory is held):
 * without an unblock function, even if interrupts are pending. Runs with the
 * GVL if they prevent releasing it. */
static inline void pk_without_gvl_noraise(void *(*fn)(void *), void *arg) {
  if (!rb_thread_call_without_gvl2(fn, arg, NULL, NULL)) fn(arg);
}

static inline VALUE pk_check_ints(VALUE unused) {
  rb_thread_check_ints();
  return unused;
}

/* Runs fn(arg) exactly once and without the GVL, even if interrupts are
 * pending: for a close, which waits for calls that need the GVL to leave.
 * Signal handlers run first. Other interrupts are raised afterwards: returns 0,
 * or a state to jump with. */
static inline int pk_without_gvl_first(void *(*fn)(void *), void *arg) {
  int interrupted = 0, state;

  while (!rb_thread_call_without_gvl2(fn, arg, NULL, NULL)) {
    rb_protect(pk_check_ints, Qnil, &state);
    if (state) interrupted = state;
  }
  return interrupted;
}

#endif
