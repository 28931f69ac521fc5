/* Ends a consumer: with an orderly leave, in a hurry, or after its owner was
 * freed. */
#include "consumer_parts.h"

#include "crash.h"

/* Longest wait between two checks of rd_kafka_consumer_closed: the end is
 * reported by an operation that isn't an event, whose edge may be missed. */
#define PK_CLOSE_SLICE_MS 100
/* How long a close watches the destruction after its deadline. */
#define PK_DESTROY_GRACE_MS 1000

/* On the consumer queue itself, which forwards to nothing: the events of
 * leaving arrive with all others. Refused after a fatal error; then nothing is
 * closed. */
void pk_consumer_close_begin(pk_consumer_t *consumer, pk_failure_t *failure) {
  if (consumer->close_begun) return;
  consumer->close_begun = true;
  pk_crash_note("%s: leaves its group", rd_kafka_name(consumer->handle.rk));
  consumer->leaving = !pk_failure_take(failure, rd_kafka_consumer_close_queue(consumer->handle.rk, consumer->queue));
}

/* An unanswered rebalance makes the destruction of the handle hang. */
static void pk_consumer_answer_all(pk_consumer_t *consumer) {
  pk_failure_t ignored;

  while (pk_consumer_answer(consumer, NULL, &ignored)) continue;
}

/* Serves events of leaving the group: revocations, answers of commits in
 * flight. True if there is nothing left to serve. */
static bool pk_consumer_serve_leaving(pk_consumer_t *consumer) {
  if (!consumer->leaving) return true;
  while (pk_consumer_poll_event(consumer)) pk_consumer_answer_all(consumer);
  return rd_kafka_consumer_closed(consumer->handle.rk);
}

/* Without time, leaving isn't begun: once begun, it has to be served to its end
 * before the handle can be destroyed. */
static void pk_consumer_leave_group(pk_consumer_t *consumer, int64_t deadline_ms) {
  pk_failure_t ignored;
  int left = pk_remaining_ms(deadline_ms);

  if (left > 0 && !atomic_load(&consumer->hurry)) pk_consumer_close_begin(consumer, &ignored);
  while (!pk_consumer_serve_leaving(consumer) && left > 0 && !atomic_load(&consumer->hurry)) {
    pk_wake_wait(&consumer->wake, left < PK_CLOSE_SLICE_MS ? left : PK_CLOSE_SLICE_MS);
    left = pk_remaining_ms(deadline_ms);
  }
}

/* Lanes are destroyed first: their records aren't needed any more, and
 * readiness must be disabled while the queues still exist. */
static void pk_consumer_retire(pk_consumer_t *consumer, int64_t deadline_ms) {
  pk_consumer_drop_current(consumer);
  pk_consumer_release_lanes(consumer);
  pk_consumer_answer_all(consumer);
  pk_consumer_leave_group(consumer, deadline_ms);
}

static void pk_consumer_drop_queues(pk_consumer_t *consumer) {
  pk_consumer_drop_current(consumer);
  while (consumer->pending_count) rd_kafka_event_destroy(pk_pending_shift(consumer));
  rd_kafka_queue_cb_event_enable(consumer->queue, NULL, NULL);
  rd_kafka_queue_cb_event_enable(consumer->replies, NULL, NULL);
  rd_kafka_queue_destroy(consumer->queue);
  rd_kafka_queue_destroy(consumer->replies);
}

static void pk_consumer_await_queries(pk_consumer_t *consumer) {
  pthread_mutex_lock(&consumer->handle.lock);
  while (consumer->queries > 0) pthread_cond_wait(&consumer->handle.idle, &consumer->handle.lock);
  pthread_mutex_unlock(&consumer->handle.lock);
}

/* librdkafka's destruction waits for the answers of commits and of leaving, up to
 * socket.timeout.ms if a broker doesn't answer, with all flags, and without a limit
 * for a revocation without an answer: so it always happens on the reaper's thread,
 * which first serves what is left at the deadline. The closing thread watches it
 * for a while. */
static void pk_consumer_destroy_client(void *arg) {
  pk_consumer_t *consumer = arg;

  while (!pk_consumer_serve_leaving(consumer)) pk_wake_wait(&consumer->wake, PK_CLOSE_SLICE_MS);
  pk_consumer_await_queries(consumer);
  pk_consumer_drop_queues(consumer);
  rd_kafka_destroy_flags(consumer->handle.rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  pk_wake_close(&consumer->wake);
  pk_handle_closed(&consumer->handle);
  pk_consumer_unref(consumer);
}

/* The deadline passed with a call inside: the rest follows when the call has
 * left. */
static void pk_consumer_outlast_calls(void *arg) {
  pk_consumer_t *consumer = arg;

  pk_handle_drain(&consumer->handle);
  pk_consumer_retire(consumer, 0);
  pk_consumer_destroy_client(consumer);
}

/* If no thread can be created, the rest is done here, however long it takes:
 * otherwise it would never be done, and waiting threads would never be woken. */
static void pk_consumer_leave_to(pk_consumer_t *consumer, void (*rest)(void *)) {
  pk_consumer_ref(consumer);
  if (pk_reap(rest, consumer)) rest(consumer);
}

/* Waits until the handle is destroyed, at most until the deadline; a bit longer
 * if the destruction has begun. */
static void pk_consumer_await_end(pk_consumer_t *consumer, int64_t deadline_ms) {
  int64_t grace_ms = pk_deadline(PK_DESTROY_GRACE_MS);

  pthread_mutex_lock(&consumer->handle.lock);
  while (pk_handle_state(&consumer->handle) == PK_CLOSING) {
    int64_t until = deadline_ms > grace_ms && !atomic_load(&consumer->hurry) ? deadline_ms : grace_ms;

    if (!pk_cond_wait_until(&consumer->handle.idle, &consumer->handle.lock, until)) break;
  }
  pthread_mutex_unlock(&consumer->handle.lock);
}

void pk_consumer_hurry(pk_consumer_t *consumer) {
  atomic_store(&consumer->hurry, 1);
  pk_wake_signal(&consumer->wake);
  pthread_mutex_lock(&consumer->handle.lock);
  pthread_cond_broadcast(&consumer->handle.idle);
  pthread_mutex_unlock(&consumer->handle.lock);
}

int pk_consumer_close(pk_consumer_t *consumer, int64_t deadline_ms) {
  int result;

  if (pk_inherited(&consumer->handle)) return PK_CLOSE_DONE;
  result = pk_handle_begin_close(&consumer->handle, deadline_ms);
  if (result == PK_CLOSE_DONE) return result;
  if (result == PK_CLOSE_BUSY) {
    pk_consumer_leave_to(consumer, pk_consumer_outlast_calls);
    return result;
  }
  pk_consumer_retire(consumer, deadline_ms);
  pk_consumer_leave_to(consumer, pk_consumer_destroy_client);
  pk_consumer_await_end(consumer, deadline_ms);
  return result;
}

static void pk_consumer_reap_abandoned(void *arg) {
  pk_consumer_t *consumer = arg;

  pk_consumer_close(consumer, PK_NO_DEADLINE);
  pk_consumer_unref(consumer);
}

void pk_consumer_abandon(pk_consumer_t *consumer) {
  if (pk_handle_state(&consumer->handle) == PK_OPEN && !pk_inherited(&consumer->handle)) {
    atomic_store(&consumer->hurry, 1); /* without an owner there is no orderly leave */
    pk_reap(pk_consumer_reap_abandoned, consumer);
  } else {
    pk_consumer_unref(consumer);
  }
}
