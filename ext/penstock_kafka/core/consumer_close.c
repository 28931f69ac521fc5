/* How a consumer ends: in good order, in a hurry, or by nobody's doing. */
#include "consumer_parts.h"

#include "crash.h"

/* Longest wait between two looks at rd_kafka_consumer_closed: the end is told by
 * an operation that isn't an event, whose edge may be missed. */
#define PK_CLOSE_SLICE_MS 100
/* How long a close watches the destruction after its deadline. */
#define PK_DESTROY_GRACE_MS 1000

/* On the consumer queue itself, which forwards to nothing: the events of leaving
 * come where all others come. Refused after a fatal error, which closes nothing. */
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

/* Serves what leaving the group needs: revocations, the answers of commits under
 * way. True when there is nothing left to serve. */
static bool pk_consumer_serve_leaving(pk_consumer_t *consumer) {
  if (!consumer->leaving) return true;
  while (pk_consumer_poll_event(consumer)) pk_consumer_answer_all(consumer);
  return rd_kafka_consumer_closed(consumer->handle.rk);
}

/* Without time to leave it isn't begun: what is begun has to be served to its end
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

/* Lanes go first: their records need no home any more, and readiness must be off
 * while the queues still exist. */
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
 * socket.timeout.ms when a broker is silent, whatever it is told, and for ever for
 * a revocation that nobody answers: so it always happens on the reaper's thread,
 * which first serves what the deadline left over, and which the closer watches for
 * a while. */
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

/* The deadline passed with a call inside: when it is out, the rest follows. */
static void pk_consumer_outlast_calls(void *arg) {
  pk_consumer_t *consumer = arg;

  pk_handle_drain(&consumer->handle);
  pk_consumer_retire(consumer, 0);
  pk_consumer_destroy_client(consumer);
}

/* Where no thread can be made any more it is done here, however long it takes: nobody
 * would ever do it otherwise, nor tell those who wait for the end. */
static void pk_consumer_leave_to(pk_consumer_t *consumer, void (*rest)(void *)) {
  pk_consumer_ref(consumer);
  if (pk_reap(rest, consumer)) rest(consumer);
}

/* Until the handle is gone, at most until the deadline, but for a destruction
 * that is on its best way to end a little more. */
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
    atomic_store(&consumer->hurry, 1); /* what nobody holds leaves no group in good order */
    pk_reap(pk_consumer_reap_abandoned, consumer);
  } else {
    pk_consumer_unref(consumer);
  }
}
