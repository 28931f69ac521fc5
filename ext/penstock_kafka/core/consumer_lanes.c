/* The consumer's lanes: opened on assignment, closed on revocation, drained
 * once more when late replies have arrived. */
#include "consumer_parts.h"

#include <string.h>

/* A reply in flight when the partition was unassigned may arrive in the lane
 * afterwards: it is drained once more, this much later. */
#define PK_DYING_MS 200
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

/* Releases the list's reference. */
static void pk_list_release(pk_lane_t **list, pk_lane_t *lane) {
  pk_list_remove(list, lane);
  pk_lane_release(lane);
  pk_lane_unref(lane);
}

/* An assignment starts with a new lane: the queue of an earlier one may belong
 * to a topic that was deleted since, and its records are stale. It isn't
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

void pk_consumer_bury_lanes(pk_consumer_t *consumer) {
  int64_t before = pk_now_ms() - PK_DYING_MS;
  pk_lane_t *next;

  for (pk_lane_t *lane = consumer->dying; lane; lane = next) {
    next = lane->next;
    if (lane->dying_since_ms > before) continue;
    pk_lane_drain(lane);
    pk_list_release(&consumer->dying, lane);
  }
}

void pk_consumer_touch_lanes(pk_consumer_t *consumer) {
  for (pk_lane_t *lane = consumer->lanes; lane; lane = lane->next) pk_lane_touch(lane);
}

void pk_consumer_seek(pk_consumer_t *consumer, pk_lane_t *lane, int64_t offset, int32_t leader_epoch,
                      pk_failure_t *failure) {
  rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_t *partition = rd_kafka_topic_partition_list_add(list, lane->topic, lane->partition);

  partition->offset = offset;
  rd_kafka_topic_partition_set_leader_epoch(partition, leader_epoch);
  if (!pk_failure_take(failure, rd_kafka_seek_partitions(consumer->handle.rk, list, 0))) {
    /* Without a timeout the answer isn't awaited: "in progress" is fine. */
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

void pk_consumer_release_lanes(pk_consumer_t *consumer) {
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
