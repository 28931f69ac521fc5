#include "consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PK_EVENTS                                                                                        \
  (RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_OFFSET_COMMIT | \
   RD_KAFKA_EVENT_LOG | RD_KAFKA_EVENT_FETCH)

/* A reply that was on its way when the partition was unassigned may land in the
 * lane afterwards: it is drained once more, this much later. */
#define PK_DYING_MS 200
/* Longest wait between two looks at rd_kafka_consumer_closed: the end is told by
 * an operation that isn't an event, whose edge may be missed. */
#define PK_CLOSE_SLICE_MS 100
/* How long a close watches the destruction after its deadline. */
#define PK_DESTROY_GRACE_MS 1000

void pk_failure_set(pk_failure_t *failure, int number, const char *text) {
  failure->number = number;
  snprintf(failure->text, sizeof failure->text, "%s", text ? text : "");
}

bool pk_failure_take(pk_failure_t *failure, rd_kafka_error_t *error) {
  if (!error) return false;
  pk_failure_set(failure, rd_kafka_error_code(error), rd_kafka_error_string(error));
  rd_kafka_error_destroy(error);
  return true;
}

/* ---- birth ---- */

static void pk_consumer_forked(pk_handle_t *handle) {
  pk_wake_forget(&((pk_consumer_t *)handle)->wake);
}

static void pk_consumer_rouse(pk_handle_t *handle) {
  pk_wake_signal(&((pk_consumer_t *)handle)->wake);
}

/* Runs on librdkafka's threads, under the queue's lock. */
static void pk_consumer_on_event(rd_kafka_t *rk, void *opaque) {
  (void)rk;
  pk_wake_signal(&((pk_consumer_t *)opaque)->wake);
}

static char *pk_conf_value(rd_kafka_conf_t *conf, const char *name) {
  char value[PK_TEXT_BYTES] = "";
  size_t size = sizeof value;

  if (rd_kafka_conf_get(conf, name, value, &size) != RD_KAFKA_CONF_OK || !*value) return NULL;
  return pk_strdup(value);
}

/* Properties of our own patches (patches/), unknown to a librdkafka without them:
 * then they are left out, and every lane stops while a rebalance is unanswered. */
bool pk_consumer_patched(rd_kafka_conf_t *conf) {
  char text[PK_TEXT_BYTES];

  rd_kafka_conf_set(conf, "statistics.assigned.only", "true", text, sizeof text);
  return rd_kafka_conf_set(conf, "rebalance.pause.partitions", "false", text, sizeof text) == RD_KAFKA_CONF_OK;
}

static bool pk_conf_is(rd_kafka_conf_t *conf, const char *name, const char *wanted) {
  char *value = pk_conf_value(conf, name);
  bool same = value && !strcmp(value, wanted);

  free(value);
  return same;
}

/* Tokens that librdkafka fetches itself are fetched on its background thread: the
 * poll loop must not wait for somebody's web server. All others are asked for by
 * an event. */
static bool pk_conf_fetches_tokens(rd_kafka_conf_t *conf) {
  return pk_conf_is(conf, "sasl.oauthbearer.method", "oidc") ||
         pk_conf_is(conf, "enable.sasl.oauthbearer.unsecure.jwt", "true");
}

static rd_kafka_t *pk_consumer_make(rd_kafka_conf_t *conf, pk_failure_t *failure) {
  bool fetches = pk_conf_fetches_tokens(conf);
  char text[PK_TEXT_BYTES];
  rd_kafka_t *rk;

  rd_kafka_conf_set_events(conf, fetches ? PK_EVENTS : PK_EVENTS | RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH);
  if (fetches) rd_kafka_conf_enable_sasl_queue(conf, 1);
  pk_consumer_patched(conf);
  rd_kafka_conf_set(conf, "log.queue", "true", text, sizeof text);
  rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
  if (rk && fetches) rd_kafka_error_destroy(rd_kafka_sasl_background_callbacks_enable(rk));
  if (rk) return rk;
  pk_failure_set(failure, rd_kafka_last_error(), text);
  rd_kafka_conf_destroy(conf);
  return NULL;
}

/* Statistics, errors and token requests come out of the main queue, logs out of
 * their own: both go to the consumer queue, the only one that is polled. */
static void pk_consumer_plumb(pk_consumer_t *consumer) {
  rd_kafka_t *rk = consumer->handle.rk;

  rd_kafka_poll_set_consumer(rk);
  consumer->queue = rd_kafka_queue_get_consumer(rk);
  consumer->replies = rd_kafka_queue_new(rk);
  rd_kafka_queue_cb_event_enable(consumer->queue, pk_consumer_on_event, consumer);
  rd_kafka_queue_cb_event_enable(consumer->replies, pk_consumer_on_event, consumer);
  rd_kafka_set_log_queue(rk, consumer->queue);
  /* Readiness tells edges only: what was queued before it was on is found by the
   * first poll. */
  pk_wake_signal(&consumer->wake);
}

static pk_consumer_t *pk_consumer_alloc(void) {
  pk_consumer_t *consumer = pk_malloc(sizeof *consumer);

  memset(consumer, 0, sizeof *consumer);
  pk_handle_init(&consumer->handle);
  consumer->handle.forked = pk_consumer_forked;
  consumer->handle.rouse = pk_consumer_rouse;
  atomic_init(&consumer->refs, 1);
  consumer->hub.wake = &consumer->wake;
  atomic_init(&consumer->hub.ready, NULL);
  return consumer;
}

static void pk_consumer_free(pk_consumer_t *consumer) {
  pk_handle_destroy(&consumer->handle);
  free(consumer->pending);
  free(consumer->group_id);
  free(consumer);
}

/* Without a group librdkafka makes a handle that has no consumer queue. */
static bool pk_consumer_start(pk_consumer_t *consumer, rd_kafka_conf_t *conf, pk_failure_t *failure) {
  consumer->group_id = pk_conf_value(conf, "group.id");
  if (!consumer->group_id) {
    rd_kafka_conf_destroy(conf);
    pk_failure_set(failure, RD_KAFKA_RESP_ERR__INVALID_ARG, "a consumer needs a group.id");
    return false;
  }
  consumer->handle.rk = pk_consumer_make(conf, failure);
  if (!consumer->handle.rk) return false;
  pk_consumer_plumb(consumer);
  return true;
}

pk_consumer_t *pk_consumer_new(rd_kafka_conf_t *conf, pk_failure_t *failure) {
  pk_consumer_t *consumer = pk_consumer_alloc();
  int err = pk_wake_init(&consumer->wake);

  if (err) {
    pk_failure_set(failure, RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, strerror(err));
    rd_kafka_conf_destroy(conf);
  } else if (pk_consumer_start(consumer, conf, failure)) {
    return consumer;
  }
  pk_wake_close(&consumer->wake);
  pk_consumer_free(consumer);
  return NULL;
}

void pk_consumer_ref(pk_consumer_t *consumer) {
  atomic_fetch_add(&consumer->refs, 1);
}

void pk_consumer_unref(pk_consumer_t *consumer) {
  if (atomic_fetch_sub(&consumer->refs, 1) == 1) pk_consumer_free(consumer);
}

/* ---- doors ---- */

int pk_loop_enter(pk_consumer_t *consumer) {
  int result = pk_handle_enter(&consumer->handle);

  if (result) return result;
  if (!atomic_exchange(&consumer->in_loop, 1)) return 0;
  pk_handle_leave(&consumer->handle);
  return PK_E_BUSY;
}

void pk_loop_leave(pk_consumer_t *consumer) {
  atomic_store(&consumer->in_loop, 0);
  pk_handle_leave(&consumer->handle);
}

bool pk_consumer_wait(pk_consumer_t *consumer, int timeout_ms) {
  if (consumer->more) timeout_ms = 0;
  return pk_wake_wait(&consumer->wake, timeout_ms) || consumer->more;
}

int pk_consumer_query_enter(pk_consumer_t *consumer) {
  int result = pk_handle_enter(&consumer->handle);

  if (result) return result;
  pk_consumer_ref(consumer);
  pthread_mutex_lock(&consumer->handle.lock);
  consumer->queries++;
  pthread_mutex_unlock(&consumer->handle.lock);
  pk_handle_leave(&consumer->handle);
  return 0;
}

void pk_consumer_query_leave(pk_consumer_t *consumer) {
  pthread_mutex_lock(&consumer->handle.lock);
  if (--consumer->queries == 0) pthread_cond_broadcast(&consumer->handle.idle);
  pthread_mutex_unlock(&consumer->handle.lock);
  pk_consumer_unref(consumer);
}

/* ---- lanes ---- */

static void pk_list_add(pk_lane_t **list, pk_lane_t *lane) {
  lane->prev = NULL;
  lane->next = *list;
  if (*list) (*list)->prev = lane;
  *list = lane;
}

static void pk_list_remove(pk_lane_t **list, pk_lane_t *lane) {
  if (lane->prev) lane->prev->next = lane->next;
  if (lane->next) lane->next->prev = lane->prev;
  if (*list == lane) *list = lane->next;
  lane->prev = lane->next = NULL;
}

static pk_lane_t *pk_list_find(pk_lane_t *list, const char *topic, int32_t partition) {
  for (pk_lane_t *lane = list; lane; lane = lane->next) {
    if (lane->partition == partition && !strcmp(lane->topic, topic)) return lane;
  }
  return NULL;
}

/* Takes the list's reference. */
static void pk_list_release(pk_lane_t **list, pk_lane_t *lane) {
  pk_list_remove(list, lane);
  pk_lane_release(lane);
  pk_lane_unref(lane);
}

/* An assignment starts with a lane of its own: the queue of an earlier one may
 * belong to a topic deleted since, and what the earlier one held is stale. Not
 * drained: the queue may be the same one. */
pk_lane_t *pk_consumer_lane(pk_consumer_t *consumer, const char *topic, int32_t partition) {
  pk_lane_t *lane = pk_list_find(consumer->lanes, topic, partition);

  if (lane) {
    pk_lane_quiet(lane);
    pk_list_release(&consumer->lanes, lane);
  }
  while ((lane = pk_list_find(consumer->dying, topic, partition))) pk_list_release(&consumer->dying, lane);
  lane = pk_lane_open(consumer->handle.rk, &consumer->hub, ++consumer->next_lane_id, topic, partition);
  if (lane) pk_list_add(&consumer->lanes, pk_lane_ref(lane));
  return lane;
}

void pk_consumer_close_lane(pk_consumer_t *consumer, pk_lane_t *lane) {
  if (lane->state != PK_LANE_OPEN) return;
  pk_lane_quiet(lane);
  pk_lane_drop_held(lane);
  pk_lane_drain(lane);
  pk_list_remove(&consumer->lanes, lane);
  pk_list_add(&consumer->dying, lane);
  lane->state = PK_LANE_DYING;
  lane->dying_since_ms = pk_now_ms();
}

static void pk_consumer_bury_lanes(pk_consumer_t *consumer) {
  int64_t before = pk_now_ms() - PK_DYING_MS;
  pk_lane_t *next;

  for (pk_lane_t *lane = consumer->dying; lane; lane = next) {
    next = lane->next;
    if (lane->dying_since_ms > before) continue;
    pk_lane_drain(lane);
    pk_list_release(&consumer->dying, lane);
  }
}

static void pk_consumer_touch_lanes(pk_consumer_t *consumer) {
  for (pk_lane_t *lane = consumer->lanes; lane; lane = lane->next) pk_lane_touch(lane);
}

void pk_consumer_seek(pk_consumer_t *consumer, pk_lane_t *lane, int64_t offset, int32_t leader_epoch,
                      pk_failure_t *failure) {
  rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_t *partition = rd_kafka_topic_partition_list_add(list, lane->topic, lane->partition);

  partition->offset = offset;
  rd_kafka_topic_partition_set_leader_epoch(partition, leader_epoch);
  if (!pk_failure_take(failure, rd_kafka_seek_partitions(consumer->handle.rk, list, 0))) {
    /* Without a timeout nobody waits for the answer: "in progress" is fine. */
    if (partition->err && partition->err != RD_KAFKA_RESP_ERR__IN_PROGRESS) {
      pk_failure_set(failure, partition->err, rd_kafka_err2str(partition->err));
    }
  }
  rd_kafka_topic_partition_list_destroy(list);
  if (failure->number) return;
  pk_lane_drop_held(lane);
  lane->cursor = offset >= 0 ? offset : PK_NO_OFFSET;
  pk_lane_touch(lane);
}

/* ---- events ---- */

static void pk_pending_push(pk_consumer_t *consumer, rd_kafka_event_t *event) {
  if (consumer->pending_count == consumer->pending_capacity) {
    consumer->pending_capacity = consumer->pending_capacity ? 2 * consumer->pending_capacity : 4;
    consumer->pending = pk_realloc(consumer->pending, consumer->pending_capacity * sizeof *consumer->pending);
  }
  consumer->pending[consumer->pending_count++] = event;
}

static rd_kafka_event_t *pk_pending_shift(pk_consumer_t *consumer) {
  rd_kafka_event_t *event = consumer->pending[0];

  consumer->pending_count--;
  memmove(consumer->pending, consumer->pending + 1, consumer->pending_count * sizeof *consumer->pending);
  return event;
}

static void pk_consumer_drop_current(pk_consumer_t *consumer) {
  if (consumer->current) rd_kafka_event_destroy(consumer->current);
  consumer->current = NULL;
}

rd_kafka_event_t *pk_consumer_poll_event(pk_consumer_t *consumer) {
  rd_kafka_event_t *event;

  pk_consumer_drop_current(consumer);
  if (consumer->dying) pk_consumer_bury_lanes(consumer);
  event = rd_kafka_queue_poll(consumer->queue, 0);
  if (!event) event = rd_kafka_queue_poll(consumer->replies, 0);
  consumer->more = event != NULL;
  if (!event) return NULL;
  if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE) {
    pk_pending_push(consumer, event);
  } else {
    consumer->current = event;
  }
  return event;
}

static rd_kafka_error_t *pk_error_of(rd_kafka_resp_err_t err) {
  return err ? rd_kafka_error_new(err, "%s", rd_kafka_err2str(err)) : NULL;
}

/* The wrong pair of calls for the protocol is refused as a whole, and then every
 * lane stays paused: so the protocol is asked for each time. */
static rd_kafka_error_t *pk_rebalance(rd_kafka_t *rk, bool assign, const rd_kafka_topic_partition_list_t *partitions) {
  const char *protocol = rd_kafka_rebalance_protocol(rk);

  if (protocol && !strcmp(protocol, "COOPERATIVE")) {
    return assign ? rd_kafka_incremental_assign(rk, partitions) : rd_kafka_incremental_unassign(rk, partitions);
  }
  return pk_error_of(rd_kafka_assign(rk, assign ? partitions : NULL));
}

/* Once the group is being left, the first answer unassigns everything, whatever
 * it says, and there must not be a second: librdkafka drops a request that it
 * meets after the group has ended without answering it, and who made it would
 * wait for ever. (While an event really waits the group can't end, so the first
 * is safe.) */
static rd_kafka_error_t *pk_rebalance_leaving(pk_consumer_t *consumer) {
  if (consumer->unassigned) return NULL;
  consumer->unassigned = true;
  return pk_error_of(rd_kafka_assign(consumer->handle.rk, NULL));
}

static rd_kafka_error_t *pk_rebalance_answer(pk_consumer_t *consumer, rd_kafka_event_t *event,
                                             const rd_kafka_topic_partition_list_t *partitions) {
  bool assign = rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;

  if (consumer->close_begun) return pk_rebalance_leaving(consumer);
  return pk_rebalance(consumer->handle.rk, assign, partitions ? partitions : rd_kafka_event_topic_partition_list(event));
}

bool pk_consumer_answer(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *partitions,
                        pk_failure_t *failure) {
  rd_kafka_event_t *event;

  if (!consumer->pending_count) return false;
  event = pk_pending_shift(consumer);
  pk_failure_take(failure, pk_rebalance_answer(consumer, event, partitions));
  rd_kafka_event_destroy(event);
  pk_consumer_touch_lanes(consumer);
  return true;
}

/* ---- offsets ---- */

rd_kafka_resp_err_t pk_consumer_commit(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *offsets,
                                       void *token) {
  return rd_kafka_commit_queue(consumer->handle.rk, offsets, consumer->replies, NULL, token);
}

static rd_kafka_AdminOptions_t *pk_committed_options(pk_consumer_t *consumer, bool require_stable, int timeout_ms,
                                                     void *token, pk_failure_t *failure) {
  rd_kafka_AdminOptions_t *options =
      rd_kafka_AdminOptions_new(consumer->handle.rk, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
  char text[PK_TEXT_BYTES];
  rd_kafka_resp_err_t err = rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, sizeof text);

  rd_kafka_AdminOptions_set_opaque(options, token);
  if (!err) {
    if (!pk_failure_take(failure, rd_kafka_AdminOptions_set_require_stable_offsets(options, require_stable))) return options;
  } else {
    pk_failure_set(failure, err, text);
  }
  rd_kafka_AdminOptions_destroy(options);
  return NULL;
}

void pk_consumer_fetch_committed(pk_consumer_t *consumer, const rd_kafka_topic_partition_list_t *partitions,
                                 bool require_stable, int timeout_ms, void *token, pk_failure_t *failure) {
  rd_kafka_AdminOptions_t *options = pk_committed_options(consumer, require_stable, timeout_ms, token, failure);
  rd_kafka_ListConsumerGroupOffsets_t *request;

  if (!options) return;
  request = rd_kafka_ListConsumerGroupOffsets_new(consumer->group_id, partitions);
  rd_kafka_ListConsumerGroupOffsets(consumer->handle.rk, &request, 1, options, consumer->replies);
  rd_kafka_ListConsumerGroupOffsets_destroy(request);
  rd_kafka_AdminOptions_destroy(options);
}

/* ---- end ---- */

/* On the consumer queue itself, which forwards to nothing: the events of leaving
 * come where all others come. Refused after a fatal error, which closes nothing. */
void pk_consumer_close_begin(pk_consumer_t *consumer, pk_failure_t *failure) {
  if (consumer->close_begun) return;
  consumer->close_begun = true;
  pk_failure_take(failure, rd_kafka_consumer_close_queue(consumer->handle.rk, consumer->queue));
}

/* An unanswered rebalance makes the destruction of the handle hang. */
static void pk_consumer_answer_all(pk_consumer_t *consumer) {
  pk_failure_t ignored;

  while (pk_consumer_answer(consumer, NULL, &ignored)) continue;
}

static void pk_consumer_release_lanes(pk_consumer_t *consumer) {
  pk_lane_t *lane, *next;

  while ((lane = consumer->lanes)) {
    pk_lane_quiet(lane);
    pk_list_release(&consumer->lanes, lane);
  }
  while ((lane = consumer->dying)) pk_list_release(&consumer->dying, lane);
  for (lane = pk_hub_collect(&consumer->hub); lane; lane = next) {
    next = pk_hub_next(lane);
    pk_lane_unref(lane);
  }
}

/* Serves what leaving the group needs (revocations, the answers of commits under
 * way) until librdkafka says that it is closed. */
static void pk_consumer_leave_group(pk_consumer_t *consumer, int64_t deadline_ms) {
  pk_failure_t failure = {0};

  pk_consumer_close_begin(consumer, &failure);
  if (failure.number) return;
  while (!atomic_load(&consumer->hurry)) {
    int left = pk_remaining_ms(deadline_ms);

    while (pk_consumer_poll_event(consumer)) pk_consumer_answer_all(consumer);
    if (rd_kafka_consumer_closed(consumer->handle.rk) || left == 0) return;
    pk_wake_wait(&consumer->wake, left < PK_CLOSE_SLICE_MS ? left : PK_CLOSE_SLICE_MS);
  }
}

/* Lanes go first: their records need no home any more, and readiness must be off
 * while the queues still exist. */
static void pk_consumer_retire(pk_consumer_t *consumer, int64_t deadline_ms) {
  pk_consumer_drop_current(consumer);
  pk_consumer_release_lanes(consumer);
  pk_consumer_answer_all(consumer);
  pk_consumer_leave_group(consumer, deadline_ms);
  pk_consumer_drop_current(consumer);
  rd_kafka_queue_cb_event_enable(consumer->queue, NULL, NULL);
  rd_kafka_queue_cb_event_enable(consumer->replies, NULL, NULL);
}

static void pk_consumer_await_queries(pk_consumer_t *consumer) {
  pthread_mutex_lock(&consumer->handle.lock);
  while (consumer->queries > 0) pthread_cond_wait(&consumer->handle.idle, &consumer->handle.lock);
  pthread_mutex_unlock(&consumer->handle.lock);
}

/* librdkafka's destruction waits for the answers of commits and of leaving, up to
 * socket.timeout.ms when a broker is silent, whatever it is told: so it always
 * happens on the reaper's thread, which the closer watches for a while. */
static void pk_consumer_destroy_client(void *arg) {
  pk_consumer_t *consumer = arg;

  pk_consumer_await_queries(consumer);
  /* What the deadline left unanswered would hold the group, and with it the
   * destruction, for ever. */
  if (consumer->pending_count && !consumer->unassigned && !rd_kafka_consumer_closed(consumer->handle.rk)) {
    rd_kafka_assign(consumer->handle.rk, NULL);
  }
  while (consumer->pending_count) rd_kafka_event_destroy(pk_pending_shift(consumer));
  rd_kafka_queue_destroy(consumer->queue);
  rd_kafka_queue_destroy(consumer->replies);
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

static void pk_consumer_leave_to(pk_consumer_t *consumer, void (*rest)(void *)) {
  pk_consumer_ref(consumer);
  pk_reap(rest, consumer);
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
