#include "producer_flush.h"

#include "thread.h"

#define PK_SLICE_MS 100
#define PK_IDLE_MS 1000

/* With this many messages in flight there is a flood: see pk_flush_once_locked. */
#define PK_FLOOD_MESSAGES 1000
#define PK_FLOOD_SLICE_MS 1
#define PK_FLOOD_PAUSE_MS 20

/* Must be called with the lock held. False after a long idle time. */
static bool pk_await_waiters_locked(pk_flush_t *flush) {
  int64_t deadline_ms = pk_deadline(PK_IDLE_MS);

  while (atomic_load(&flush->urgency.count) == 0 && !flush->stopping) {
    if (!pk_cond_wait_until(&flush->wanted, &flush->lock, deadline_ms)) return atomic_load(&flush->urgency.count) > 0;
  }
  return true;
}

/* Must be called with the lock held. */
static void pk_pause_locked(pk_flush_t *flush, unsigned asked) {
  int64_t deadline_ms = pk_deadline(PK_FLOOD_PAUSE_MS);

  while (!flush->stopping && flush->asked == asked) {
    if (!pk_cond_wait_until(&flush->wanted, &flush->lock, deadline_ms)) return;
  }
}

/* Must be called with the lock held, which it releases meanwhile.
 *
 * During a flood a flush doesn't end, and while it lasts the flood is sent in
 * small batches. So it only lasts for a moment, in which the requested message
 * is sent; it is repeated for the next waiter, and after a pause for messages
 * it missed. */
static void pk_flush_once_locked(pk_flush_t *flush) {
  unsigned asked = flush->asked;
  bool flood, done;

  pthread_mutex_unlock(&flush->lock);
  flood = rd_kafka_outq_len(flush->rk) >= PK_FLOOD_MESSAGES;
  done = !rd_kafka_flush(flush->rk, flood ? PK_FLOOD_SLICE_MS : PK_SLICE_MS);
  pthread_mutex_lock(&flush->lock);
  if (flood && !done) pk_pause_locked(flush, asked);
}

static void *pk_flush_main(void *arg) {
  pk_flush_t *flush = arg;

  pthread_mutex_lock(&flush->lock);
  while (!flush->stopping && pk_await_waiters_locked(flush)) {
    if (flush->stopping) break;
    pk_flush_once_locked(flush);
  }
  flush->state = PK_FLUSH_ENDED;
  pthread_mutex_unlock(&flush->lock);
  return NULL;
}

/* Must be called with the lock held. A helper that has ended only needs to
 * return, so joining it here takes no time. Without a thread the message merely
 * waits for linger. */
static void pk_flush_start_locked(pk_flush_t *flush) {
  if (flush->state == PK_FLUSH_ENDED) pthread_join(flush->thread, NULL);
  flush->state = PK_FLUSH_NONE;
  if (pk_thread_start(&flush->thread, "pk:flush", pk_flush_main, flush) == 0) flush->state = PK_FLUSH_RUNNING;
}

static void pk_flush_more(void *arg) {
  pk_flush_t *flush = arg;

  pthread_mutex_lock(&flush->lock);
  flush->asked++;
  if (!flush->stopping) {
    if (flush->state != PK_FLUSH_RUNNING) pk_flush_start_locked(flush);
    else pthread_cond_signal(&flush->wanted);
  }
  pthread_mutex_unlock(&flush->lock);
}

void pk_flush_init(pk_flush_t *flush, rd_kafka_t *rk) {
  flush->rk = rk;
  flush->urgency.more = pk_flush_more;
  flush->urgency.arg = flush;
  atomic_init(&flush->urgency.count, 0);
  pthread_mutex_init(&flush->lock, NULL);
  pk_cond_init(&flush->wanted);
  flush->state = PK_FLUSH_NONE;
  flush->asked = 0;
  flush->stopping = false;
}

void pk_flush_stop(pk_flush_t *flush) {
  bool join;

  pthread_mutex_lock(&flush->lock);
  flush->stopping = true;
  pthread_cond_signal(&flush->wanted);
  join = flush->state != PK_FLUSH_NONE;
  pthread_mutex_unlock(&flush->lock);
  if (join) pthread_join(flush->thread, NULL);
  flush->state = PK_FLUSH_NONE;
}

void pk_flush_destroy(pk_flush_t *flush) {
  pthread_cond_destroy(&flush->wanted);
  pthread_mutex_destroy(&flush->lock);
}
