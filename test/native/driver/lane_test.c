/* Lanes and their batches, over a queue that behaves like librdkafka's. */
#include "lane.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fake_rdkafka.h"

static pk_wake_t wake;
static pk_hub_t hub;

static pk_lane_t *open_lane(rd_kafka_queue_t **queue) {
  *queue = fake_queue();
  return pk_lane_open(NULL, &hub, 1, "topic", 0);
}

static void close_lane(pk_lane_t *lane) {
  pk_lane_t *next;

  pk_lane_quiet(lane);
  pk_lane_release(lane);
  pk_lane_unref(lane);
  for (lane = pk_hub_collect(&hub); lane; lane = next) {
    next = pk_hub_next(lane);
    pk_lane_unref(lane);
  }
}

static void push_range(rd_kafka_queue_t *queue, int64_t from, int64_t to, const char *payload) {
  for (int64_t offset = from; offset < to; offset++) fake_push(queue, offset, payload, 0);
}

static pk_batch_t take(pk_lane_t *lane, uint32_t records, size_t bytes) {
  pk_batch_t batch;

  pk_batch_init(&batch);
  pk_lane_take(lane, records, bytes, &batch);
  return batch;
}

static void test_takes_follow_each_other(void) {
  rd_kafka_queue_t *queue;
  pk_lane_t *lane = open_lane(&queue);
  pk_batch_t first, second, third;

  push_range(queue, 5, 15, "payload");
  first = take(lane, 4, 1 << 20);
  second = take(lane, 100, 1 << 20);
  third = take(lane, 100, 1 << 20);
  CHECK(first.count == 4 && first.full && first.from == PK_NO_OFFSET && first.to == 9);
  CHECK(second.count == 6 && !second.full && second.from == 9 && second.to == 15);
  CHECK(pk_batch_empty(&third) && third.from == 15 && third.to == 15);
  CHECK(first.records[0].offset == 5 && first.records[0].timestamp == 50 && first.records[0].leader_epoch == 3);
  CHECK(!memcmp(pk_record_payload(&second.records[5]), "payload", 7));
  CHECK(fake_messages_alive() == 0);
  pk_batch_free(&first);
  pk_batch_free(&second);
  pk_batch_free(&third);
  close_lane(lane);
}

static void test_a_take_keeps_to_its_bytes(void) {
  rd_kafka_queue_t *queue;
  pk_lane_t *lane = open_lane(&queue);
  pk_batch_t batch;
  char large[10001];

  memset(large, 'x', 10000);
  large[10000] = '\0';
  push_range(queue, 0, 100, large);
  batch = take(lane, 100, 50000);
  CHECK(batch.full);
  CHECK(batch.bytes >= 50000 && batch.bytes <= 60000);
  pk_batch_free(&batch);
  batch = take(lane, 100, 1);
  CHECK(batch.count == 1);
  pk_batch_free(&batch);
  close_lane(lane);
}

static void test_ends_and_errors(void) {
  rd_kafka_queue_t *queue;
  pk_lane_t *lane = open_lane(&queue);
  pk_batch_t batch;

  push_range(queue, 0, 2, "a");
  fake_push_error(queue, RD_KAFKA_RESP_ERR__PARTITION_EOF, 7);
  batch = take(lane, 100, 1 << 20);
  CHECK(batch.count == 2 && batch.eof == 7 && batch.to == 2);
  pk_batch_free(&batch);
  fake_push_error(queue, RD_KAFKA_RESP_ERR__PARTITION_EOF, 7);
  push_range(queue, 7, 8, "b");
  batch = take(lane, 100, 1 << 20);
  CHECK(batch.count == 1 && batch.eof == PK_NONE); /* no end any more */
  pk_batch_free(&batch);
  fake_push_error(queue, RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, 3);
  batch = take(lane, 100, 1 << 20);
  CHECK(batch.error == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET && !strcmp(batch.error_message, "an error"));
  CHECK(!pk_batch_empty(&batch) && batch.count == 0);
  pk_batch_free(&batch);
  close_lane(lane);
}

static void test_a_touch_keeps_what_is_live(void) {
  rd_kafka_queue_t *queue;
  pk_lane_t *lane = open_lane(&queue), *ready;
  pk_batch_t batch;

  push_range(queue, 0, 3, "a");
  for (ready = pk_hub_collect(&hub); ready; ready = NULL) {
    pk_hub_next(ready);
    pk_lane_unref(ready);
  }
  pk_lane_touch(lane);
  pk_lane_touch(lane);
  ready = pk_hub_collect(&hub);
  CHECK(ready == lane && pk_hub_next(ready) == NULL);
  pk_lane_unref(ready);
  batch = take(lane, 100, 1 << 20);
  CHECK(batch.count == 3 && batch.records[0].offset == 0 && batch.records[2].offset == 2);
  pk_batch_free(&batch);
  push_range(queue, 3, 4, "b");
  pk_lane_touch(lane);
  pk_lane_drop_held(lane);
  batch = take(lane, 100, 1 << 20);
  CHECK(pk_batch_empty(&batch));
  pk_batch_free(&batch);
  close_lane(lane);
}

static void test_headers_and_absent_payloads(void) {
  rd_kafka_queue_t *queue;
  pk_lane_t *lane = open_lane(&queue);
  pk_batch_t batch;
  pk_header_t header;
  const char *position = NULL;
  int count = 0;

  fake_push(queue, 0, "with", 5);
  fake_push(queue, 1, NULL, 0);
  fake_push(queue, 2, "", 0);
  batch = take(lane, 100, 1 << 20);
  while (pk_record_next_header(&batch.records[0], &position, &header)) {
    CHECK(header.name_size == 4 && !memcmp(header.name, "name", 4));
    if (count == 0) CHECK(header.value == NULL);
    if (count == 1) CHECK(header.value && header.value_size == 0);
    if (count > 1) CHECK(header.value_size == 1 && *header.value == '0' + count);
    count++;
  }
  CHECK(count == 5 && batch.records[0].headers_count == 5);
  CHECK(pk_record_payload(&batch.records[1]) == NULL && pk_record_payload(&batch.records[2]) != NULL);
  CHECK(pk_record_key(&batch.records[0]) == NULL);
  pk_batch_free(&batch);
  close_lane(lane);
}

enum { LANES = 8, RECORDS = 20000 };
static rd_kafka_queue_t *queues[LANES];

static void *produce(void *ptr) {
  rd_kafka_queue_t *queue = ptr;

  for (int i = 0; i < RECORDS; i++) fake_push(queue, i, "payload", i % 7 == 0);
  return NULL;
}

/* Eight threads fill eight lanes; one loop takes from those that were reported
 * ready and from those it left full. If a readiness were lost, it would wait in
 * vain. */
static long loop(int *timeouts) {
  bool again[LANES] = {false};
  bool any = false;
  long seen = 0;

  while (seen < (long)LANES * RECORDS && *timeouts < 3) {
    pk_lane_t *lane, *next;

    if (!any && !pk_wake_wait(&wake, 3000)) ++*timeouts;
    for (lane = pk_hub_collect(&hub); lane; lane = next) {
      pk_batch_t batch;

      next = pk_hub_next(lane);
      batch = take(lane, 50, 1 << 20);
      again[lane->id] = batch.full;
      seen += batch.count;
      if (batch.full) pk_lane_signal(lane);
      pk_batch_free(&batch);
      pk_lane_unref(lane);
    }
    any = false;
    for (int i = 0; i < LANES; i++) any = any || again[i];
  }
  return seen;
}

static void test_no_readiness_is_lost(void) {
  pk_lane_t *lanes[LANES];
  pthread_t threads[LANES];
  int timeouts = 0;

  for (int i = 0; i < LANES; i++) {
    queues[i] = fake_queue();
    lanes[i] = pk_lane_open(NULL, &hub, (uint32_t)i, "topic", i);
  }
  for (int i = 0; i < LANES; i++) pthread_create(&threads[i], NULL, produce, queues[i]);
  CHECK(loop(&timeouts) == (long)LANES * RECORDS);
  CHECK(timeouts == 0);
  for (int i = 0; i < LANES; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < LANES; i++) CHECK(lanes[i]->cursor == RECORDS);
  for (int i = 0; i < LANES; i++) close_lane(lanes[i]);
}

/* Readiness disabled, lane released, while records still arrive: no callback
 * runs any more. */
static void test_a_released_lane_is_told_nothing(void) {
  rd_kafka_queue_t *queue;
  pk_lane_t *lane = open_lane(&queue);

  pk_lane_quiet(lane);
  fake_push(queue, 0, "late", 0);
  CHECK(pk_hub_collect(&hub) == NULL);
  close_lane(lane);
  CHECK(fake_messages_alive() == 0 && fake_queues_alive() == 0);
}

int main(void) {
  pk_wake_init(&wake);
  hub.wake = &wake;
  test_takes_follow_each_other();
  test_a_take_keeps_to_its_bytes();
  test_ends_and_errors();
  test_a_touch_keeps_what_is_live();
  test_headers_and_absent_payloads();
  test_no_readiness_is_lost();
  test_a_released_lane_is_told_nothing();
  pk_wake_close(&wake);
  return report();
}
