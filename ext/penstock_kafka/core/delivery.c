#include "delivery.h"

#include <stdlib.h>

enum { PK_FLAG_RESOLVED = 1, PK_FLAG_INTERRUPTED = 2 };

void pk_stripes_init(pk_stripe_t *stripes) {
  for (int i = 0; i < PK_STRIPES; i++) {
    pthread_mutex_init(&stripes[i].lock, NULL);
    stripes[i].watching = NULL;
    stripes[i].open = NULL;
  }
}

void pk_stripes_destroy(pk_stripe_t *stripes) {
  for (int i = 0; i < PK_STRIPES; i++) pthread_mutex_destroy(&stripes[i].lock);
}

void pk_delivery_init(pk_delivery_t *delivery, pk_stripe_t *stripe, const pk_topic_t *topic) {
  atomic_init(&delivery->refs, 1);
  atomic_init(&delivery->fate, PK_PENDING);
  delivery->partition = RD_KAFKA_PARTITION_UA;
  delivery->offset = RD_KAFKA_OFFSET_INVALID;
  delivery->timestamp_ms = -1;
  delivery->stripe = stripe;
  delivery->topic = topic;
}

void pk_delivery_open(pk_delivery_t *delivery) {
  pk_stripe_t *stripe = delivery->stripe;

  atomic_fetch_add_explicit(&delivery->refs, 1, memory_order_relaxed);
  pthread_mutex_lock(&stripe->lock);
  delivery->prev = NULL;
  delivery->next = stripe->open;
  if (stripe->open) stripe->open->prev = delivery;
  stripe->open = delivery;
  pthread_mutex_unlock(&stripe->lock);
}

static void pk_unlink_locked(pk_delivery_t *delivery) {
  pk_stripe_t *stripe = delivery->stripe;

  if (delivery->prev) delivery->prev->next = delivery->next;
  if (delivery->next) delivery->next->prev = delivery->prev;
  if (stripe->open == delivery) stripe->open = delivery->next;
  delivery->prev = delivery->next = NULL;
}

/* Must be called with the stripe's lock held. There is no urgent wait any more. */
static void pk_calm_locked(pk_delivery_t *delivery, pk_urgency_t *urgency) {
  if (delivery->urgent && urgency) atomic_fetch_sub(&urgency->count, 1);
  delivery->urgent = 0;
}

/* Must be called with the stripe's lock held. */
static void pk_list_locked(pk_delivery_wait_t *wait) {
  pk_stripe_t *stripe = wait->delivery->stripe;

  wait->next = wait->delivery->waiting;
  wait->delivery->waiting = wait;
  if (!wait->watched) return;
  wait->watching_prev = NULL;
  wait->watching_next = stripe->watching;
  if (stripe->watching) stripe->watching->watching_prev = wait;
  stripe->watching = wait;
}

/* Must be called with the stripe's lock held; `link` points to it in its delivery. */
static void pk_unlist_locked(pk_delivery_wait_t **link) {
  pk_delivery_wait_t *wait = *link;
  pk_stripe_t *stripe = wait->delivery->stripe;

  *link = wait->next;
  if (!wait->watched) return;
  if (wait->watching_prev) wait->watching_prev->watching_next = wait->watching_next;
  if (wait->watching_next) wait->watching_next->watching_prev = wait->watching_prev;
  if (stripe->watching == wait) stripe->watching = wait->watching_next;
}

/* For a wait without a thread, which only this file owns, and which is in no
 * list. */
static void pk_wait_free(pk_delivery_wait_t *wait) {
  pk_completions_release(wait->watched);
  free(wait);
}

/* A fiber's wait belongs to us; a thread's is on that thread's stack, and isn't
 * touched after it was woken: the thread may be leaving. */
static void pk_tell(pk_delivery_wait_t *wait, pk_completions_t **bell) {
  if (!wait->watched) {
    pk_event_flags_set(&wait->flags, PK_FLAG_RESOLVED);
    return;
  }
  pk_completions_push(wait->watched, wait->number, bell);
  pk_wait_free(wait);
}

/* Must be called with the stripe's lock held. */
static void pk_tell_waiters_locked(pk_delivery_t *delivery, pk_completions_t **bell) {
  pk_delivery_wait_t *wait;

  while ((wait = delivery->waiting)) {
    pk_unlist_locked(&delivery->waiting);
    pk_tell(wait, bell);
  }
}

/* Must be called with the stripe's lock held; releases librdkafka's reference. */
static void pk_resolve_locked(pk_delivery_t *delivery, pk_fate_t fate, pk_urgency_t *urgency, pk_completions_t **bell) {
  pk_unlink_locked(delivery);
  pk_calm_locked(delivery, urgency);
  atomic_store_explicit(&delivery->fate, fate, memory_order_release);
  pk_tell_waiters_locked(delivery, bell);
  pk_delivery_release(delivery);
}

void pk_delivery_retract(pk_delivery_t *delivery, rd_kafka_resp_err_t err) {
  pk_stripe_t *stripe = delivery->stripe;
  pk_completions_t *bell = NULL;

  pthread_mutex_lock(&stripe->lock);
  delivery->err = err;
  pk_resolve_locked(delivery, PK_REPORTED, NULL, &bell);
  pthread_mutex_unlock(&stripe->lock);
  pk_completions_ring(&bell);
}

void pk_delivery_release(pk_delivery_t *delivery) {
  if (atomic_fetch_sub_explicit(&delivery->refs, 1, memory_order_acq_rel) == 1) free(delivery);
}

void pk_delivery_report_locked(pk_delivery_t *delivery, const rd_kafka_message_t *message, pk_urgency_t *urgency,
                               pk_completions_t **bell) {
  rd_kafka_timestamp_type_t type;

  delivery->err = message->err;
  delivery->partition = message->partition;
  delivery->offset = message->offset;
  delivery->timestamp_ms = rd_kafka_message_timestamp(message, &type);
  delivery->persisted = rd_kafka_message_status(message);
  pk_resolve_locked(delivery, PK_REPORTED, urgency, bell);
}

static int pk_stripe_abandon(pk_stripe_t *stripe, pk_urgency_t *urgency) {
  pk_completions_t *bell = NULL;
  int count = 0;

  pthread_mutex_lock(&stripe->lock);
  while (stripe->open) {
    pk_delivery_t *delivery = stripe->open;

    delivery->err = RD_KAFKA_RESP_ERR__DESTROY;
    delivery->persisted = RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED;
    pk_resolve_locked(delivery, PK_UNKNOWN, urgency, &bell);
    count++;
  }
  pthread_mutex_unlock(&stripe->lock);
  pk_completions_ring(&bell);
  return count;
}

int pk_deliveries_abandon(pk_stripe_t *stripes, pk_urgency_t *urgency) {
  int count = 0;

  for (int i = 0; i < PK_STRIPES; i++) count += pk_stripe_abandon(&stripes[i], urgency);
  return count;
}

void pk_delivery_wait_open(pk_delivery_wait_t *wait) {
  pk_event_flags_open(&wait->flags);
}

void pk_delivery_wait_close(pk_delivery_wait_t *wait) {
  pk_event_flags_close(&wait->flags);
}

/* Must be called with the stripe's lock held. True for the first urgent wait. */
static bool pk_hurry_locked(pk_delivery_wait_t *wait) {
  if (!wait->urgency || wait->delivery->urgent++) return false;
  atomic_fetch_add(&wait->urgency->count, 1);
  return true;
}

/* False if there is nothing to wait for. The urgency is reported outside the
 * lock: its listener takes a lock of its own. A delivery resolved in between
 * has already been subtracted from the count, which costs the listener one
 * check. */
static bool pk_join_waiters(pk_delivery_wait_t *wait) {
  pk_stripe_t *stripe = wait->delivery->stripe;
  pk_urgency_t *urgency = wait->urgency; /* a fiber's wait may be freed once the lock is released */
  bool pending, more = false;

  pthread_mutex_lock(&stripe->lock);
  if ((pending = pk_delivery_fate(wait->delivery) == PK_PENDING)) {
    pk_list_locked(wait);
    more = pk_hurry_locked(wait);
  }
  pthread_mutex_unlock(&stripe->lock);
  if (more) urgency->more(urgency->arg);
  return pending;
}

/* Must be called with the stripe's lock held. */
static void pk_unhurry_locked(pk_delivery_wait_t *wait) {
  if (!wait->urgency || !wait->delivery->urgent || --wait->delivery->urgent > 0) return;
  atomic_fetch_sub(&wait->urgency->count, 1);
}

/* The delivery may have been resolved meanwhile: then the wait isn't listed any
 * more, and it isn't urgent. */
static void pk_leave_waiters(pk_delivery_wait_t *wait) {
  pk_stripe_t *stripe = wait->delivery->stripe;
  pk_delivery_wait_t **link = &wait->delivery->waiting;

  pthread_mutex_lock(&stripe->lock);
  while (*link && *link != wait) link = &(*link)->next;
  if (*link) pk_unlist_locked(link);
  pk_unhurry_locked(wait);
  pthread_mutex_unlock(&stripe->lock);
}

bool pk_delivery_wait(pk_delivery_wait_t *wait) {
  if (!pk_join_waiters(wait)) return true;
  if (pk_event_flags_wait(&wait->flags, wait->deadline_ms) & PK_FLAG_RESOLVED) return true;
  pk_leave_waiters(wait);
  return pk_delivery_fate(wait->delivery) != PK_PENDING;
}

void pk_delivery_interrupt(pk_delivery_wait_t *wait) {
  pk_event_flags_set(&wait->flags, PK_FLAG_INTERRUPTED);
}

bool pk_delivery_watch(pk_delivery_t *delivery, pk_completions_t *watched, uint64_t number, int64_t deadline_ms,
                       pk_urgency_t *urgency) {
  pk_delivery_wait_t *wait = calloc(1, sizeof *wait);

  if (!wait) abort();
  wait->delivery = delivery;
  wait->deadline_ms = deadline_ms;
  wait->urgency = urgency;
  wait->watched = watched;
  wait->number = number;
  pk_completions_retain(watched);
  if (pk_join_waiters(wait)) return true;
  pk_wait_free(wait);
  return false;
}

void pk_delivery_unwatch(pk_delivery_t *delivery, const pk_completions_t *watched, uint64_t number) {
  pk_stripe_t *stripe = delivery->stripe;
  pk_delivery_wait_t **link = &delivery->waiting, *wait;

  pthread_mutex_lock(&stripe->lock);
  while ((wait = *link) && !(wait->watched == watched && wait->number == number)) link = &wait->next;
  if (wait) {
    pk_unlist_locked(link);
    pk_unhurry_locked(wait);
  }
  pthread_mutex_unlock(&stripe->lock);
  if (wait) pk_wait_free(wait);
}

/* Must be called with the stripe's lock held. */
static void pk_expire_one_locked(pk_delivery_wait_t *wait, pk_completions_t **bell) {
  pk_delivery_wait_t **link = &wait->delivery->waiting;

  while (*link != wait) link = &(*link)->next;
  pk_unlist_locked(link);
  pk_unhurry_locked(wait);
  pk_tell(wait, bell);
}

int64_t pk_deliveries_expire(pk_stripe_t *stripes, int64_t now_ms) {
  int64_t next_ms = PK_NO_DEADLINE;
  pk_completions_t *bell = NULL;

  for (int i = 0; i < PK_STRIPES; i++) {
    pthread_mutex_lock(&stripes[i].lock);
    for (pk_delivery_wait_t *wait = stripes[i].watching, *next; wait; wait = next) {
      next = wait->watching_next;
      if (wait->deadline_ms <= now_ms) pk_expire_one_locked(wait, &bell);
      else if (wait->deadline_ms < next_ms) next_ms = wait->deadline_ms;
    }
    pthread_mutex_unlock(&stripes[i].lock);
    pk_completions_ring(&bell);
  }
  return next_ms;
}
