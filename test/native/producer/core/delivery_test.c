/* Deliveries without librdkafka: two owners, one outcome, waits in shared
 * stripes, and deliveries left at close. */
#include "../../core/check.h"

#include <poll.h>
#include <unistd.h>

#include "delivery.h"
#include "thread.h"

/* Replaces librdkafka's functions for a message. */
int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *message, rd_kafka_timestamp_type_t *type) {
  *type = RD_KAFKA_TIMESTAMP_CREATE_TIME;
  return message->offset + 1000;
}

rd_kafka_msg_status_t rd_kafka_message_status(const rd_kafka_message_t *message) {
  return message->err ? RD_KAFKA_MSG_STATUS_NOT_PERSISTED : RD_KAFKA_MSG_STATUS_PERSISTED;
}

static pk_stripe_t stripes[PK_STRIPES];
static _Atomic int hurries;

static void hurried(void *arg) {
  (void)arg;
  atomic_fetch_add(&hurries, 1);
}

static pk_urgency_t urgency = {.more = hurried};

static pk_delivery_t *new_delivery(int stripe) {
  pk_delivery_t *delivery = calloc(1, sizeof *delivery);

  pk_delivery_init(delivery, &stripes[stripe % PK_STRIPES], NULL);
  return delivery;
}

static void report_delivery(pk_delivery_t *delivery, int64_t offset, rd_kafka_resp_err_t err) {
  rd_kafka_message_t message = {.err = err, .partition = 3, .offset = offset};
  pk_stripe_t *stripe = delivery->stripe;
  pk_completions_t *bell = NULL;

  pthread_mutex_lock(&stripe->lock);
  pk_delivery_report_locked(delivery, &message, &urgency, &bell);
  pthread_mutex_unlock(&stripe->lock);
  pk_completions_ring(&bell);
}

static bool wait_for(pk_delivery_t *delivery, int64_t timeout_ms, pk_urgency_t *counted) {
  pk_delivery_wait_t wait = {.delivery = delivery, .deadline_ms = pk_deadline(timeout_ms), .urgency = counted};
  bool resolved;

  pk_delivery_wait_open(&wait);
  resolved = pk_delivery_wait(&wait);
  pk_delivery_wait_close(&wait);
  return resolved;
}

static void a_report_resolves_it(void) {
  pk_delivery_t *delivery = new_delivery(0);

  CHECK(pk_delivery_fate(delivery) == PK_PENDING);
  pk_delivery_open(delivery);
  CHECK(!wait_for(delivery, 0, NULL));
  report_delivery(delivery, 7, RD_KAFKA_RESP_ERR_NO_ERROR);
  CHECK(wait_for(delivery, 0, NULL));
  CHECK(pk_delivery_fate(delivery) == PK_REPORTED && delivery->offset == 7 && delivery->timestamp_ms == 1007);
  CHECK(delivery->partition == 3 && delivery->persisted == RD_KAFKA_MSG_STATUS_PERSISTED);
  pk_delivery_release(delivery);
}

static void it_outlives_the_first_owner(void) {
  pk_delivery_t *dropped = new_delivery(1), *kept = new_delivery(1);

  pk_delivery_open(dropped);
  pk_delivery_release(dropped); /* Ruby's handle is garbage-collected before the report */
  report_delivery(dropped, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  pk_delivery_open(kept);
  report_delivery(kept, 2, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
  CHECK(kept->err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT && kept->persisted == RD_KAFKA_MSG_STATUS_NOT_PERSISTED);
  pk_delivery_release(kept);
  CHECK(!stripes[1].open);
}

static void what_was_refused_has_no_report(void) {
  pk_delivery_t *delivery = new_delivery(2);

  pk_delivery_open(delivery);
  pk_delivery_retract(delivery, RD_KAFKA_RESP_ERR__QUEUE_FULL);
  CHECK(delivery->err == RD_KAFKA_RESP_ERR__QUEUE_FULL && !stripes[2].open);
  CHECK(pk_deliveries_abandon(stripes, &urgency) == 0);
  pk_delivery_release(delivery);
}

static void what_is_open_at_close_is_unknown(void) {
  pk_delivery_t *open[50];

  for (int i = 0; i < 50; i++) pk_delivery_open(open[i] = new_delivery(i));
  report_delivery(open[20], 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  CHECK(pk_deliveries_abandon(stripes, &urgency) == 49);
  CHECK(pk_deliveries_abandon(stripes, &urgency) == 0);
  for (int i = 0; i < 50; i++) {
    CHECK(pk_delivery_fate(open[i]) == (i == 20 ? PK_REPORTED : PK_UNKNOWN));
    CHECK(i == 20 || open[i]->persisted == RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED);
    pk_delivery_release(open[i]);
  }
}

static void urgency_is_counted_once_a_delivery(void) {
  pk_delivery_t *delivery = new_delivery(3);

  atomic_store(&hurries, 0);
  pk_delivery_open(delivery);
  CHECK(!wait_for(delivery, 1, &urgency));
  CHECK(atomic_load(&urgency.count) == 0 && atomic_load(&hurries) == 1);
  CHECK(!wait_for(delivery, 1, &urgency));
  CHECK(atomic_load(&urgency.count) == 0 && atomic_load(&hurries) == 2);
  report_delivery(delivery, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  CHECK(wait_for(delivery, 1, &urgency) && atomic_load(&hurries) == 2);
  pk_delivery_release(delivery);
}

static void *interrupt_soon(void *wait) {
  pk_delivery_interrupt(wait);
  return NULL;
}

static void a_wait_can_be_interrupted(void) {
  pk_delivery_t *delivery = new_delivery(4);
  pk_delivery_wait_t wait = {.delivery = delivery, .deadline_ms = PK_NO_DEADLINE, .urgency = &urgency};
  pthread_t thread;

  pk_delivery_open(delivery);
  pk_delivery_wait_open(&wait);
  CHECK(pk_thread_start(&thread, "interrupter", interrupt_soon, &wait) == 0);
  CHECK(!pk_delivery_wait(&wait));
  pthread_join(thread, NULL);
  pk_delivery_wait_close(&wait);
  CHECK(!delivery->waiting && atomic_load(&urgency.count) == 0);
  report_delivery(delivery, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  pk_delivery_release(delivery);
}

static void an_interrupt_before_the_wait_is_kept_and_one_after_a_report_is_harmless(void) {
  pk_delivery_t *delivery = new_delivery(4);
  pk_delivery_wait_t wait = {.delivery = delivery, .deadline_ms = PK_NO_DEADLINE};

  pk_delivery_open(delivery);
  pk_delivery_wait_open(&wait);
  pk_delivery_interrupt(&wait);
  CHECK(!pk_delivery_wait(&wait));
  pk_delivery_wait_close(&wait);
  pk_delivery_wait_open(&wait);
  report_delivery(delivery, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  CHECK(pk_delivery_wait(&wait));
  pk_delivery_interrupt(&wait);
  pk_delivery_wait_close(&wait);
  pk_delivery_release(delivery);
}

typedef struct {
  pk_delivery_t *delivery;
  int64_t timeout_ms;
  pk_urgency_t *counted;
} party_t;

static void *wait_with_others(void *ptr) {
  party_t *party = ptr;

  return wait_for(party->delivery, party->timeout_ms, party->counted) ? ptr : NULL;
}

/* One report wakes all waits for it and no other; a wait that ends early only
 * subtracts its own urgency. */
static void several_wait_for_one(void) {
  pk_delivery_t *delivery = new_delivery(5), *other = new_delivery(5);
  party_t parties[] = {{delivery, 20000, &urgency}, {delivery, 10, NULL}, {delivery, 20000, NULL}, {other, 200, NULL}};
  pthread_t threads[4];
  void *resolved[4];

  pk_delivery_open(delivery);
  pk_delivery_open(other);
  for (int i = 0; i < 4; i++) CHECK(pk_thread_start(&threads[i], "waiter", wait_with_others, &parties[i]) == 0);
  pthread_join(threads[1], &resolved[1]);
  while (atomic_load(&urgency.count) == 0) usleep(1000);
  report_delivery(delivery, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  for (int i = 0; i < 4; i++) {
    if (i != 1) pthread_join(threads[i], &resolved[i]);
  }
  CHECK(resolved[0] && !resolved[1] && resolved[2] && !resolved[3]);
  CHECK(atomic_load(&urgency.count) == 0 && !delivery->waiting);
  report_delivery(other, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  pk_delivery_release(delivery);
  pk_delivery_release(other);
}

#define MESSAGES 4000

static pk_delivery_t *sent[MESSAGES];

static void *report_all(void *arg) {
  (void)arg;
  for (int i = 0; i < MESSAGES; i++) report_delivery(sent[i], i, RD_KAFKA_RESP_ERR_NO_ERROR);
  return NULL;
}

static void *wait_for_all(void *arg) {
  long resolved = 0;

  (void)arg;
  for (int i = 0; i < MESSAGES; i++) resolved += wait_for(sent[i], 20000, i % 3 ? &urgency : NULL);
  return (void *)resolved;
}

/* Several threads wait for deliveries that another resolves; with the thread
 * sanitizer. */
static void many_wait_while_one_reports(void) {
  pthread_t waiters[4], reporter;
  void *resolved;

  for (int i = 0; i < MESSAGES; i++) pk_delivery_open(sent[i] = new_delivery(i / PK_STRIPE_RUN));
  for (int i = 0; i < 4; i++) CHECK(pk_thread_start(&waiters[i], "waiter", wait_for_all, NULL) == 0);
  CHECK(pk_thread_start(&reporter, "reporter", report_all, NULL) == 0);
  for (int i = 0; i < 4; i++) {
    pthread_join(waiters[i], &resolved);
    CHECK((long)resolved == MESSAGES);
  }
  pthread_join(reporter, NULL);
  CHECK(atomic_load(&urgency.count) == 0);
  for (int i = 0; i < MESSAGES; i++) pk_delivery_release(sent[i]);
}

static int told_of;

static void count_told(void) {
  told_of++;
}

/* poll(2), like a scheduler. */
static bool readable(const pk_completions_t *watched) {
  struct pollfd fd = {.fd = pk_completions_fd(watched), .events = POLLIN};

  return poll(&fd, 1, 0) > 0;
}

static void a_fiber_is_told_by_number_once(void) {
  pk_delivery_t *told = new_delivery(6), *left = new_delivery(6);
  pk_completions_t *watched = pk_completions_new(count_told);
  uint64_t numbers[8];

  told_of = 0;
  pk_delivery_open(told);
  pk_delivery_open(left);
  CHECK(pk_delivery_watch(told, watched, 11, PK_NO_DEADLINE, &urgency));
  CHECK(pk_delivery_watch(told, watched, 12, PK_NO_DEADLINE, NULL));
  CHECK(pk_delivery_watch(left, watched, 13, PK_NO_DEADLINE, &urgency) && atomic_load(&urgency.count) == 2);
  pk_delivery_unwatch(left, watched, 13);
  pk_delivery_unwatch(left, watched, 13);
  CHECK(atomic_load(&urgency.count) == 1 && !readable(watched));
  report_delivery(told, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  report_delivery(left, 2, RD_KAFKA_RESP_ERR_NO_ERROR);
  CHECK(!pk_delivery_watch(told, watched, 14, PK_NO_DEADLINE, &urgency) && atomic_load(&urgency.count) == 0);
  CHECK(readable(watched) && told_of == 1);
  CHECK(pk_completions_take(watched, numbers, 1) == 1 && readable(watched));
  CHECK(pk_completions_take(watched, numbers + 1, 8) == 1 && numbers[0] + numbers[1] == 23);
  CHECK(pk_completions_take(watched, numbers, 8) == 0 && !readable(watched) && !stripes[6].watching);
  pk_completions_release(watched);
  pk_delivery_release(told);
  pk_delivery_release(left);
}

/* A thread that waits for the same delivery isn't woken, nor is a fiber with a
 * later timeout. */
static void a_fiber_is_told_that_its_time_is_over(void) {
  pk_delivery_t *delivery = new_delivery(7);
  pk_completions_t *watched = pk_completions_new(NULL);
  int64_t now_ms = pk_now_ms();
  uint64_t numbers[8];

  pk_delivery_open(delivery);
  CHECK(pk_deliveries_expire(stripes, now_ms) == PK_NO_DEADLINE);
  CHECK(pk_delivery_watch(delivery, watched, 1, now_ms + 10, &urgency));
  CHECK(pk_delivery_watch(delivery, watched, 2, now_ms + 20, &urgency));
  CHECK(pk_delivery_watch(delivery, watched, 3, PK_NO_DEADLINE, NULL));
  CHECK(pk_deliveries_expire(stripes, now_ms + 9) == now_ms + 10 && !readable(watched));
  CHECK(pk_deliveries_expire(stripes, now_ms + 10) == now_ms + 20 && atomic_load(&urgency.count) == 1);
  CHECK(pk_deliveries_expire(stripes, now_ms + 20) == PK_NO_DEADLINE && atomic_load(&urgency.count) == 0);
  CHECK(pk_completions_take(watched, numbers, 8) == 2 && numbers[0] == 1 && numbers[1] == 2);
  pk_delivery_unwatch(delivery, watched, 1);
  report_delivery(delivery, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  CHECK(pk_completions_take(watched, numbers, 8) == 1 && numbers[0] == 3);
  pk_completions_release(watched);
  pk_delivery_release(delivery);
}

/* Its fibers ended with their thread, without ending their waits. */
static void a_wait_outlives_whom_it_would_tell(void) {
  pk_delivery_t *delivery = new_delivery(8);
  pk_completions_t *watched = pk_completions_new(NULL);

  pk_delivery_open(delivery);
  CHECK(pk_delivery_watch(delivery, watched, 1, PK_NO_DEADLINE, NULL));
  pk_completions_release(watched);
  report_delivery(delivery, 1, RD_KAFKA_RESP_ERR_NO_ERROR);
  CHECK(!stripes[8].watching && !delivery->waiting);
  pk_delivery_release(delivery);
}

static void *take_all(void *arg) {
  pk_completions_t *watched = arg;
  uint64_t numbers[16], sum = 0;
  int64_t deadline_ms = pk_deadline(20000);

  for (size_t taken = 0; taken < MESSAGES && pk_remaining_ms(deadline_ms) > 0;) {
    struct pollfd fd = {.fd = pk_completions_fd(watched), .events = POLLIN};
    size_t count;

    poll(&fd, 1, pk_remaining_ms(deadline_ms));
    taken += count = pk_completions_take(watched, numbers, 16);
    while (count > 0) sum += numbers[--count];
  }
  return (void *)(uintptr_t)sum;
}

static void *expire_all(void *arg) {
  int64_t now_ms = pk_now_ms();

  (void)arg;
  for (int i = 0; i < 200; i++) pk_deliveries_expire(stripes, now_ms + i);
  return NULL;
}

/* One thread resolves, one checks timeouts, one takes: each number comes once. */
static void all_numbers_come_while_others_report_and_expire(void) {
  pk_completions_t *watched = pk_completions_new(NULL);
  pthread_t taker, reporter, clock;
  int64_t now_ms = pk_now_ms();
  void *sum;

  for (int i = 0; i < MESSAGES; i++) {
    pk_delivery_open(sent[i] = new_delivery(i / PK_STRIPE_RUN));
    CHECK(pk_delivery_watch(sent[i], watched, (uint64_t)i + 1, i % 2 ? now_ms + i % 200 : PK_NO_DEADLINE, NULL));
  }
  CHECK(pk_thread_start(&taker, "taker", take_all, watched) == 0);
  CHECK(pk_thread_start(&reporter, "reporter", report_all, NULL) == 0);
  CHECK(pk_thread_start(&clock, "clock", expire_all, NULL) == 0);
  pthread_join(taker, &sum);
  pthread_join(reporter, NULL);
  pthread_join(clock, NULL);
  CHECK((uintptr_t)sum == (uintptr_t)MESSAGES * (MESSAGES + 1) / 2);
  for (int i = 0; i < MESSAGES; i++) pk_delivery_release(sent[i]);
  pk_completions_release(watched);
}

int main(void) {
  pk_stripes_init(stripes);
  a_report_resolves_it();
  it_outlives_the_first_owner();
  what_was_refused_has_no_report();
  what_is_open_at_close_is_unknown();
  urgency_is_counted_once_a_delivery();
  a_wait_can_be_interrupted();
  an_interrupt_before_the_wait_is_kept_and_one_after_a_report_is_harmless();
  several_wait_for_one();
  a_fiber_is_told_by_number_once();
  a_fiber_is_told_that_its_time_is_over();
  a_wait_outlives_whom_it_would_tell();
  all_numbers_come_while_others_report_and_expire();
  many_wait_while_one_reports();
  pk_stripes_destroy(stripes);
  return report();
}
