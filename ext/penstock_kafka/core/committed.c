#include "committed.h"

#include "crash.h"

#include <stdlib.h>
#include <string.h>

/* The call can't be interrupted. It is made with timeouts that double, so that
 * a close waits for it no longer than it has already lasted. */
#define PK_FIRST_SLICE_MS 500

static void pk_committed_push(pk_committed_t *answer) {
  pk_consumer_t *consumer = answer->query.consumer;
  pk_committed_t **end = &consumer->committed;

  atomic_fetch_add(&answer->query.refs, 1);
  pthread_mutex_lock(&consumer->handle.lock);
  while (*end) end = &(*end)->next;
  *end = answer;
  pthread_mutex_unlock(&consumer->handle.lock);
  pk_wake_signal(&consumer->wake);
}

pk_committed_t *pk_consumer_next_committed(pk_consumer_t *consumer) {
  pk_committed_t *answer;

  pthread_mutex_lock(&consumer->handle.lock);
  answer = consumer->committed;
  if (answer) consumer->committed = answer->next;
  pthread_mutex_unlock(&consumer->handle.lock);
  return answer;
}

void pk_consumer_drop_committed(pk_consumer_t *consumer) {
  pk_committed_t *answer;

  while ((answer = consumer->committed)) {
    consumer->committed = answer->next;
    pk_query_unref(&answer->query);
  }
}

static bool pk_committed_wanted(pk_committed_t *it) {
  return pk_handle_state(&it->query.consumer->handle) == PK_OPEN;
}

static rd_kafka_resp_err_t pk_add_partitions(rd_kafka_t *rk, const char *topic, int64_t deadline_ms,
                                             rd_kafka_topic_partition_list_t *list) {
  rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
  const rd_kafka_metadata_t *metadata;
  rd_kafka_resp_err_t err;

  if (!rkt) return rd_kafka_last_error();
  err = rd_kafka_metadata(rk, 0, rkt, &metadata, pk_remaining_ms(deadline_ms));
  rd_kafka_topic_destroy(rkt);
  if (err) return err;
  for (int i = 0; i < metadata->topic_cnt; i++) {
    for (int j = 0; j < metadata->topics[i].partition_cnt; j++) {
      rd_kafka_topic_partition_list_add(list, topic, metadata->topics[i].partitions[j].id);
    }
  }
  rd_kafka_metadata_destroy(metadata);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Replaces an entry for a whole topic by its partitions. */
static rd_kafka_resp_err_t pk_committed_expand(pk_committed_t *it, int64_t deadline_ms) {
  rd_kafka_topic_partition_list_t *whole = rd_kafka_topic_partition_list_new(it->list->cnt);
  rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;

  for (int i = 0; i < it->list->cnt && !err; i++) {
    const rd_kafka_topic_partition_t *elem = &it->list->elems[i];

    if (elem->partition == RD_KAFKA_PARTITION_UA) {
      err = pk_add_partitions(it->query.consumer->handle.rk, elem->topic, deadline_ms, whole);
    } else {
      rd_kafka_topic_partition_list_add(whole, elem->topic, elem->partition);
    }
  }
  rd_kafka_topic_partition_list_destroy(it->list);
  it->list = whole;
  return err;
}

static rd_kafka_resp_err_t pk_committed_ask(pk_committed_t *it, int64_t deadline_ms) {
  rd_kafka_t *rk = it->query.consumer->handle.rk;
  rd_kafka_resp_err_t err = pk_committed_expand(it, deadline_ms);
  int slice_ms = PK_FIRST_SLICE_MS;

  if (err || it->list->cnt == 0) return err;
  do {
    int left_ms = pk_remaining_ms(deadline_ms);

    err = rd_kafka_committed(rk, it->list, left_ms < slice_ms ? left_ms : slice_ms);
    slice_ms *= 2;
  } while (err == RD_KAFKA_RESP_ERR__TIMED_OUT && pk_remaining_ms(deadline_ms) > 0 && pk_committed_wanted(it));
  return err;
}

static void pk_committed_run(pk_query_t *query) {
  pk_committed_t *it = (pk_committed_t *)query;

  query->err = pk_committed_ask(it, pk_deadline(query->timeout_ms));
  pk_committed_push(it);
}

static void pk_committed_clean(pk_query_t *query) {
  rd_kafka_topic_partition_list_destroy(((pk_committed_t *)query)->list);
}

int pk_consumer_fetch_committed(pk_consumer_t *consumer, rd_kafka_topic_partition_list_t *list, int timeout_ms,
                                intptr_t token) {
  pk_committed_t *it = pk_malloc(sizeof *it);
  int result;

  memset(it, 0, sizeof *it);
  pk_query_init(&it->query, consumer, timeout_ms);
  it->query.run = pk_committed_run;
  it->query.clean = pk_committed_clean;
  it->list = list;
  it->token = token;
  pk_crash_note("committed offsets of %d partitions requested", list->cnt);
  result = pk_query_start(&it->query);
  pk_query_unref(&it->query);
  return result;
}
