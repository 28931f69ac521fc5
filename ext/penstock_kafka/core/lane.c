#include "lane.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* Messages requested at once: limits the pointers on the stack and, with the
 * mean size of a record, by how much a take can exceed its bytes. */
#define PK_SLICE 512
/* Assumed until a take has shown the real size: small slices at first. */
#define PK_UNKNOWN_RECORD_BYTES 16384

pk_lane_t *pk_lane_ref(pk_lane_t *lane) {
  atomic_fetch_add(&lane->refs, 1);
  return lane;
}

void pk_lane_unref(pk_lane_t *lane) {
  if (atomic_fetch_sub(&lane->refs, 1) != 1) return;
  pk_batch_free(&lane->held);
  free(lane->topic);
  free(lane);
}

void pk_lane_signal(pk_lane_t *lane) {
  pk_hub_t *hub = lane->hub;
  pk_lane_t *head;

  if (!atomic_exchange(&lane->marked, 1)) {
    pk_lane_ref(lane);
    head = atomic_load(&hub->ready);
    do {
      lane->next_ready = head;
    } while (!atomic_compare_exchange_weak(&hub->ready, &head, lane));
  }
  pk_wake_signal(hub->wake);
}

/* A lane may be pushed again as soon as its bit is cleared, which overwrites
 * next_ready: so the bits stay set while the caller walks the list, and
 * pk_hub_next clears each. */
pk_lane_t *pk_hub_collect(pk_hub_t *hub) {
  pk_lane_t *stack = atomic_exchange(&hub->ready, NULL);
  pk_lane_t *oldest_first = NULL;

  while (stack) {
    pk_lane_t *lane = stack;

    stack = lane->next_ready;
    lane->next_ready = oldest_first;
    oldest_first = lane;
  }
  return oldest_first;
}

pk_lane_t *pk_hub_next(pk_lane_t *lane) {
  pk_lane_t *next = lane->next_ready;

  atomic_store(&lane->marked, 0);
  return next;
}

/* Runs on librdkafka's threads, under the queue's lock. */
static void pk_lane_on_ready(rd_kafka_t *rk, void *opaque) {
  (void)rk;
  pk_lane_signal(opaque);
}

static pk_lane_t *pk_lane_new(pk_hub_t *hub, uint32_t id, const char *topic, int32_t partition) {
  pk_lane_t *lane = pk_malloc(sizeof *lane);

  memset(lane, 0, sizeof *lane);
  atomic_init(&lane->refs, 1);
  atomic_init(&lane->marked, 0);
  lane->hub = hub;
  lane->id = id;
  lane->topic = pk_strdup(topic);
  lane->partition = partition;
  lane->cursor = PK_NO_OFFSET;
  lane->record_bytes = PK_UNKNOWN_RECORD_BYTES;
  pk_batch_init(&lane->held);
  return lane;
}

/* Forwarding to NULL sets the flag that keeps the queue separate when fetching
 * starts. Readiness is only signalled on edges, and never for records queued
 * already, so the caller touches the lane when it is assigned. */
pk_lane_t *pk_lane_open(rd_kafka_t *rk, pk_hub_t *hub, uint32_t id, const char *topic, int32_t partition) {
  rd_kafka_queue_t *queue = rd_kafka_queue_get_partition(rk, topic, partition);
  pk_lane_t *lane;

  if (!queue) return NULL;
  lane = pk_lane_new(hub, id, topic, partition);
  lane->queue = queue;
  rd_kafka_queue_forward(queue, NULL);
  rd_kafka_queue_cb_event_enable(queue, pk_lane_on_ready, lane);
  return lane;
}

void pk_lane_quiet(pk_lane_t *lane) {
  if (lane->queue) rd_kafka_queue_cb_event_enable(lane->queue, NULL, NULL);
}

void pk_lane_release(pk_lane_t *lane) {
  if (lane->queue) rd_kafka_queue_destroy(lane->queue);
  lane->queue = NULL;
  lane->state = PK_LANE_CLOSED;
  pk_lane_drop_held(lane);
}

void pk_lane_drop_held(pk_lane_t *lane) {
  pk_batch_free(&lane->held);
  pk_batch_init(&lane->held);
}

void pk_lane_drain(pk_lane_t *lane) {
  rd_kafka_message_t *messages[PK_SLICE];
  ssize_t count;

  if (!lane->queue) return;
  do {
    count = rd_kafka_consume_batch_queue(lane->queue, 0, messages, PK_SLICE);
    for (ssize_t i = 0; i < count; i++) rd_kafka_message_destroy(messages[i]);
  } while (count == PK_SLICE);
}

void pk_lane_touch(pk_lane_t *lane) {
  rd_kafka_message_t *message;

  if (lane->state != PK_LANE_OPEN) return;
  if (rd_kafka_consume_batch_queue(lane->queue, 0, &message, 1) != 1) return;
  pk_batch_absorb(&lane->held, &message, 1);
  pk_lane_signal(lane);
}

/* How many messages to request: the rest of the record limit and, by the mean
 * size seen, of the byte limit; at least one. */
static size_t pk_lane_slice(const pk_lane_t *lane, const pk_batch_t *batch, uint32_t max_records, size_t max_bytes) {
  size_t mean = batch->count ? batch->bytes / batch->count : lane->record_bytes;
  size_t slice = (max_bytes - batch->bytes) / (mean ? mean : 1);

  if (slice > max_records - batch->count) slice = max_records - batch->count;
  if (slice > PK_SLICE) slice = PK_SLICE;
  return slice ? slice : 1;
}

/* Fewer than requested means that the queue was seen empty: the next message
 * causes an edge. Otherwise the lane may hold more without another edge. */
static void pk_lane_fill(pk_lane_t *lane, uint32_t max_records, size_t max_bytes, pk_batch_t *batch) {
  rd_kafka_message_t *messages[PK_SLICE];

  batch->full = true;
  while (batch->count < max_records && batch->bytes < max_bytes && !batch->error) {
    size_t slice = pk_lane_slice(lane, batch, max_records, max_bytes);
    ssize_t count = rd_kafka_consume_batch_queue(lane->queue, 0, messages, slice);

    if (count > 0) pk_batch_absorb(batch, messages, (size_t)count);
    if (count < (ssize_t)slice) {
      batch->full = false;
      return;
    }
  }
}

void pk_lane_take(pk_lane_t *lane, uint32_t max_records, size_t max_bytes, pk_batch_t *batch) {
  if (lane->state != PK_LANE_OPEN) return;
  *batch = lane->held;
  pk_batch_init(&lane->held);
  batch->from = lane->cursor;
  pk_lane_fill(lane, max_records, max_bytes, batch);
  if (batch->count) {
    lane->record_bytes = batch->bytes / batch->count;
    lane->cursor = batch->to;
  } else {
    batch->to = batch->from;
  }
}
