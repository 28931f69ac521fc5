/* A transaction call continues when its caller is interrupted, repeats its
 * request until its timeout, ends when the producer closes, and is freed with
 * the last reference. One thread makes the calls as long as there are any. The
 * functions below replace librdkafka. */
#include "../../core/check.h"
#include "thread.h"
#include "transaction.h"

#include <unistd.h>

static pk_producer_t producer;
static _Atomic int asked, freed, gate;
static _Atomic int timeouts; /* this many calls time out, after the whole slice */
static pthread_t maker;      /* the thread that made the last call */

struct rd_kafka_error_s {
  bool retriable;
};

static rd_kafka_error_t *error_new(bool retriable) {
  rd_kafka_error_t *error = malloc(sizeof *error);

  error->retriable = retriable;
  return error;
}

static rd_kafka_error_t *play(int timeout_ms) {
  maker = pthread_self();
  atomic_fetch_add(&asked, 1);
  while (atomic_load(&gate)) usleep(1000);
  if (atomic_fetch_sub(&timeouts, 1) <= 0) return NULL;
  usleep((useconds_t)(timeout_ms + 2) * 1000);
  return error_new(true);
}

rd_kafka_error_t *rd_kafka_init_transactions(rd_kafka_t *rk, int timeout_ms) {
  (void)rk;
  return play(timeout_ms);
}

rd_kafka_error_t *rd_kafka_commit_transaction(rd_kafka_t *rk, int timeout_ms) {
  (void)rk;
  return play(timeout_ms);
}

rd_kafka_error_t *rd_kafka_abort_transaction(rd_kafka_t *rk, int timeout_ms) {
  (void)rk, (void)timeout_ms;
  return error_new(false);
}

rd_kafka_error_t *rd_kafka_send_offsets_to_transaction(rd_kafka_t *rk,
                                                       const rd_kafka_topic_partition_list_t *offsets,
                                                       const rd_kafka_consumer_group_metadata_t *group,
                                                       int timeout_ms) {
  (void)rk, (void)offsets, (void)group;
  return play(timeout_ms);
}

rd_kafka_error_t *rd_kafka_begin_transaction(rd_kafka_t *rk) {
  (void)rk;
  return NULL;
}

int rd_kafka_error_is_retriable(const rd_kafka_error_t *error) {
  return error->retriable;
}

void rd_kafka_error_destroy(rd_kafka_error_t *error) {
  free(error);
}

void rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_t *list) {
  (void)list;
  atomic_fetch_add(&freed, 1);
}

void rd_kafka_consumer_group_metadata_destroy(rd_kafka_consumer_group_metadata_t *group) {
  (void)group;
  atomic_fetch_add(&freed, 1);
}

static pk_txn_call_t *begun(pk_txn_kind_t kind, int timeout_ms) {
  pk_txn_call_t *call = pk_txn_call_new(&producer, kind, timeout_ms);

  atomic_store(&asked, 0);
  CHECK(pk_txn_call_start(call) == 0);
  return call;
}

static bool waited(pk_txn_call_t *call) {
  pk_txn_wait_t wait;
  bool finished;

  pk_txn_wait_open(&wait, call);
  finished = pk_txn_wait(&wait);
  pk_txn_wait_close(&wait);
  return finished;
}

static void its_end_is_waited_for(void) {
  pk_txn_call_t *call = begun(PK_TXN_COMMIT, 5000);

  CHECK(waited(call) && pk_txn_call_done(call) && !call->error);
  CHECK(atomic_load(&asked) == 1);
  pk_txn_call_unref(call);
}

static void an_error_without_a_way_on_is_the_answer(void) {
  pk_txn_call_t *call = begun(PK_TXN_ABORT, 5000);

  CHECK(waited(call) && call->error && !call->error->retriable);
  pk_txn_call_unref(call);
}

static void who_is_interrupted_leaves_it_going_on(void) {
  pk_txn_call_t *call;
  pk_txn_wait_t wait;

  atomic_store(&gate, 1);
  call = begun(PK_TXN_COMMIT, 5000);
  pk_txn_wait_open(&wait, call);
  pk_txn_wait_interrupt(&wait);
  CHECK(!pk_txn_wait(&wait) && !pk_txn_call_done(call));
  pk_txn_wait_close(&wait);
  atomic_store(&gate, 0);
  CHECK(waited(call) && !call->error);
  pk_txn_call_unref(call);
}

static void *interrupt_late(void *wait) {
  usleep(20000);
  pk_txn_wait_interrupt(wait);
  atomic_store(&gate, 0);
  return NULL;
}

/* The end and an interrupt at the same time: whichever comes first, the call is
 * finally known to have ended, and a wait that has ended isn't touched. */
static void an_interrupt_may_meet_the_end(void) {
  for (int round = 0; round < 20; round++) {
    pthread_t interrupter;
    pk_txn_call_t *call;
    pk_txn_wait_t wait;

    atomic_store(&gate, 1);
    call = begun(PK_TXN_COMMIT, 5000);
    pk_txn_wait_open(&wait, call);
    pthread_create(&interrupter, NULL, interrupt_late, &wait);
    pk_txn_wait(&wait);
    pthread_join(interrupter, NULL);
    pk_txn_wait_close(&wait);
    CHECK(waited(call) && !call->error);
    pk_txn_call_unref(call);
  }
}

static pthread_t maker_of_a_call(void) {
  pk_txn_call_t *call = begun(PK_TXN_COMMIT, 5000);

  CHECK(waited(call));
  pk_txn_call_unref(call);
  return maker;
}

static bool rests(void) {
  bool rests;

  pthread_mutex_lock(&producer.transactions.lock);
  rests = producer.transactions.state == PK_TXN_THREAD_ENDED;
  pthread_mutex_unlock(&producer.transactions.lock);
  return rests;
}

/* On a busy machine more than a second may pass between two calls. */
static void calls_behind_each_other_share_a_thread_that_ends_without_them(void) {
  for (int count = 0; count < 20; count++) {
    int64_t since_ms = pk_now_ms();
    pthread_t first = maker_of_a_call();
    bool shared = pthread_equal(first, maker_of_a_call());

    CHECK(shared || pk_now_ms() - since_ms >= 1000);
  }
  while (!rests()) usleep(1000);
  maker_of_a_call();
}

static void it_is_asked_again_until_its_time_is_over(void) {
  pk_txn_call_t *call;

  atomic_store(&timeouts, 1);
  call = begun(PK_TXN_INIT, 3000);
  CHECK(waited(call) && !call->error && atomic_load(&asked) == 2);
  pk_txn_call_unref(call);
  atomic_store(&timeouts, 9);
  call = begun(PK_TXN_INIT, 20);
  CHECK(waited(call) && call->error && atomic_load(&asked) == 1);
  pk_txn_call_unref(call);
  atomic_store(&timeouts, 0);
}

static void offsets_are_sent_once_and_freed_with_it(void) {
  pk_txn_call_t *call = pk_txn_call_new(&producer, PK_TXN_OFFSETS, 20);

  atomic_store(&asked, 0);
  atomic_store(&timeouts, 1);
  call->offsets = (void *)&producer;
  call->group = (void *)&producer;
  CHECK(pk_txn_call_start(call) == 0 && waited(call));
  CHECK(call->error && atomic_load(&asked) == 1);
  pk_txn_call_unref(call);
  while (atomic_load(&freed) < 2) usleep(1000);
  CHECK(atomic_load(&freed) == 2);
}

static void a_call_nobody_waits_for_frees_itself(void) {
  pk_txn_call_t *call;

  atomic_store(&gate, 1);
  call = begun(PK_TXN_COMMIT, 5000);
  pk_txn_call_unref(call);
  atomic_store(&gate, 0);
  pk_handle_drain(&producer.handle);
  CHECK(atomic_load(&asked) == 1);
}

static void a_close_ends_it_and_lets_none_begin(void) {
  pk_txn_call_t *call;

  atomic_store(&timeouts, 9);
  call = begun(PK_TXN_COMMIT, 60000);
  while (!atomic_load(&asked)) usleep(1000);
  CHECK(pk_handle_begin_close(&producer.handle, pk_deadline(10000)) == PK_CLOSE_MINE);
  CHECK(waited(call) && call->error && atomic_load(&asked) == 1);
  CHECK(pk_txn_call_start(call) == PK_E_CLOSED);
  pk_txn_call_unref(call);
  pk_txn_thread_stop(&producer.transactions);
  CHECK(producer.transactions.state == PK_TXN_THREAD_NONE);
  pk_handle_closed(&producer.handle);
}

int main(void) {
  pk_handle_init(&producer.handle);
  pk_txn_thread_init(&producer.transactions);
  its_end_is_waited_for();
  an_error_without_a_way_on_is_the_answer();
  who_is_interrupted_leaves_it_going_on();
  an_interrupt_may_meet_the_end();
  calls_behind_each_other_share_a_thread_that_ends_without_them();
  it_is_asked_again_until_its_time_is_over();
  offsets_are_sent_once_and_freed_with_it();
  a_call_nobody_waits_for_frees_itself();
  a_close_ends_it_and_lets_none_begin();
  pk_txn_thread_destroy(&producer.transactions);
  pk_handle_destroy(&producer.handle);
  return report();
}
