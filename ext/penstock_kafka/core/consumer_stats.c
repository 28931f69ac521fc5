#include "consumer_stats.h"

#include <stdlib.h>
#include <string.h>

#include "../../penstock_core/core/stats_trim.h"

/* The lanes, sorted, so that each partition in the text is looked up quickly. */
typedef struct {
  const pk_lane_t **lanes;
  size_t count;
} pk_lane_index_t;

/* A topic of the text isn't NUL-terminated. */
typedef struct {
  const char *topic;
  size_t size;
  int32_t partition;
} pk_place_t;

static int pk_compare(const pk_place_t *place, const pk_lane_t *lane) {
  int order = strncmp(place->topic, lane->topic, place->size);

  if (order) return order;
  if (lane->topic[place->size]) return -1;
  return (place->partition > lane->partition) - (place->partition < lane->partition);
}

static int pk_compare_lanes(const void *one, const void *other) {
  const pk_lane_t *lane = *(const pk_lane_t *const *)one;
  pk_place_t place = {lane->topic, strlen(lane->topic), lane->partition};

  return pk_compare(&place, *(const pk_lane_t *const *)other);
}

static int pk_compare_place(const void *place, const void *lane) {
  return pk_compare(place, *(const pk_lane_t *const *)lane);
}

static void pk_index_lanes(pk_lane_index_t *index, const pk_lane_t *first) {
  for (const pk_lane_t *lane = first; lane; lane = lane->next) index->count++;
  if (!index->count) return;
  if (!(index->lanes = malloc(index->count * sizeof *index->lanes))) abort();
  index->count = 0;
  for (const pk_lane_t *lane = first; lane; lane = lane->next) index->lanes[index->count++] = lane;
  qsort(index->lanes, index->count, sizeof *index->lanes, pk_compare_lanes);
}

static bool pk_has_lane(void *context, const char *topic, size_t topic_size, int32_t partition) {
  const pk_lane_index_t *index = context;
  pk_place_t place = {topic, topic_size, partition};

  return bsearch(&place, index->lanes, index->count, sizeof *index->lanes, pk_compare_place) != NULL;
}

long pk_consumer_trim_stats(const pk_consumer_t *consumer, const char *json, size_t size, char *out) {
  pk_lane_index_t index = {NULL, 0};
  long written;

  pk_index_lanes(&index, consumer->lanes);
  written = pk_stats_trim(json, size, index.count ? pk_has_lane : NULL, &index, out);
  free(index.lanes);
  return written;
}
