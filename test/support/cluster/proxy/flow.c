/* One direction of a connection: finds the frames in the bytes, asks the rules about each, and queues what is to be forwarded.
 *
 * A request begins with its length (4 bytes), API key (2), version (2), correlation id (4) and the client id (2 and the text);
 * a response with its length and correlation id. Which API a response belongs to is known from the requests that were forwarded. */
#define _GNU_SOURCE
#include "proxy.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_HEAD 14
#define RESPONSE_HEAD 8
#define FRAME_MAX (1u << 30)
/* In a ProduceResponse from version 9 on, between a topic's name and the error code of its first partition: the number of its
 * partitions (1, compact) and the partition's number (4). */
#define PARTITION_HEAD 5

static int32_t int32_at(const uint8_t *bytes) {
  uint32_t value;

  memcpy(&value, bytes, sizeof value);
  return (int32_t)ntohl(value);
}

static int16_t int16_at(const uint8_t *bytes) { return (int16_t)(bytes[0] << 8 | bytes[1]); }

static void set_int32(uint8_t *bytes, uint32_t value) {
  value = htonl(value);
  memcpy(bytes, &value, sizeof value);
}

static void expect(struct connection *connection, int32_t correlation, int16_t api) {
  if (connection->expected_count == connection->expected_room) {
    size_t room = connection->expected_room ? connection->expected_room * 2 : 32;
    struct expected *grown = malloc(room * sizeof *grown);

    if (!grown) die("malloc");
    for (size_t index = 0; index < connection->expected_count; index++) {
      grown[index] = connection->expected[(connection->expected_first + index) % connection->expected_room];
    }
    free(connection->expected);
    connection->expected = grown;
    connection->expected_first = 0;
    connection->expected_room = room;
  }
  connection->expected[(connection->expected_first + connection->expected_count++) % connection->expected_room] =
      (struct expected){correlation, api};
}

/* Responses come in the order of their requests; a Produce without acks has none. */
static int16_t expected_api(struct connection *connection, int32_t correlation) {
  while (connection->expected_count) {
    struct expected first = connection->expected[connection->expected_first];

    connection->expected_first = (connection->expected_first + 1) % connection->expected_room;
    connection->expected_count--;
    if (first.correlation == correlation) return first.api;
  }
  return -1;
}

static void note_client(struct connection *connection, const struct flow *flow) {
  size_t size = flow->head_have - REQUEST_HEAD;

  if (int16_at(flow->head + 12) < 0) size = 0;
  if (size >= sizeof connection->client) size = sizeof connection->client - 1;
  memcpy(connection->client, flow->head + REQUEST_HEAD, size);
  connection->client[size] = 0;
}

static void choose_flips(struct flow *flow, const struct rule *rule, uint64_t frame) {
  uint64_t from = rule->head ? 4 : flow->head_have;
  size_t count = rule->bytes > 0 ? (size_t)rule->bytes : 1;

  flow->flips = 0;
  memcpy(flow->flip_text, rule->text, sizeof flow->flip_text);
  if (frame <= from) return;
  if (count > FLIPS_MAX) count = FLIPS_MAX;
  while (flow->flips < count) flow->flip_at[flow->flips++] = from + next_random() % (frame - from);
}

/* A fault of one frame, before any of its bytes is forwarded. Returns false when the connection has ended. */
static bool apply(struct connection *connection, enum side side, const struct rule *rule, int16_t api, uint64_t frame) {
  struct flow *flow = &connection->flow[side];

  printf("%lld %s %d %s %s %d\n", (long long)now_us(), rule->id, connection->link->number,
         *connection->client ? connection->client : "-", action_name(rule->action), api);
  switch (rule->action) {
    case DELAY: flow->frame_due_us += rule->ms * 1000; break;
    case DROP: flow->swallow_frame = true; break;
    case RESET: flow->cut_at = rule->bytes < (long)frame ? rule->bytes : (int64_t)frame; break;
    case CLOSE: connection_end(connection, false); return false;
    case CORRUPT: choose_flips(flow, rule, frame); break;
    case LIE: set_int32(flow->head, (uint32_t)((int64_t)frame - 4 + rule->bytes)); break;
    case MUTE: flow->mute = true; break;
    case TWICE: flow->copying = true; break;
    case FAIL:
      flow->fail_code = rule->code;
      memcpy(flow->fail_topic, rule->text, sizeof flow->fail_topic);
      break;
  }
  if (rule->action == RESET && rule->bytes <= 0) {
    connection_end(connection, true);
    return false;
  }
  return true;
}

static void flip_bits(struct flow *flow, uint8_t *bytes, size_t size) {
  for (size_t flip = 0; flip < flow->flips; flip++) {
    uint64_t at = flow->flip_at[flip];

    if (at >= flow->frame_position && at < flow->frame_position + size) bytes[at - flow->frame_position] ^= 1u << (at % 8);
  }
}

/* Changes one byte of each occurrence, up to the number that is left. */
static void flip_text(struct flow *flow, uint8_t *bytes, size_t size) {
  size_t length = strlen(flow->flip_text);
  uint8_t *found = bytes;

  while (flow->flips && (found = memmem(found, size - (size_t)(found - bytes), flow->flip_text, length))) {
    found[next_random() % length] ^= 1u << (next_random() % 8);
    found += length;
    flow->flips--;
  }
}

static void set_error_code(struct flow *flow, uint8_t *bytes, size_t size) {
  size_t length = strlen(flow->fail_topic);
  uint8_t *found = memmem(bytes, size, flow->fail_topic, length);

  if (!found || (size_t)(found - bytes) + length + PARTITION_HEAD + 2 > size) return;
  found += length + PARTITION_HEAD;
  found[0] = (uint8_t)(flow->fail_code >> 8);
  found[1] = (uint8_t)flow->fail_code;
  *flow->fail_topic = 0;
}

/* Forwards bytes of the frame, changed as its rule requires. Returns false when the connection has ended. */
static bool forward(struct connection *connection, enum side side, uint8_t *bytes, size_t size) {
  struct flow *flow = &connection->flow[side];

  if (flow->flips) (*flow->flip_text ? flip_text : flip_bits)(flow, bytes, size);
  if (*flow->fail_topic) set_error_code(flow, bytes, size);
  if (flow->cut_at >= 0 && flow->frame_position + size >= (uint64_t)flow->cut_at) {
    queue_add(&flow->queue, bytes, (size_t)((uint64_t)flow->cut_at - flow->frame_position), flow->frame_due_us);
    (void)queue_write(&flow->queue, connection->fd[side == REQUEST]);
    connection_end(connection, true);
    return false;
  }
  flow->frame_position += size;
  if (!flow->swallow_frame) queue_add(&flow->queue, bytes, size, flow->frame_due_us);
  if (flow->copying) queue_add(&flow->copy, bytes, size, 0);
  return true;
}

static void frame_ended(struct flow *flow) {
  if (flow->copying) queue_move(&flow->copy, &flow->queue, flow->frame_due_us);
  flow->copying = false;
  flow->head_have = 0;
}

/* The head is complete: identifies the frame and chooses its fault. */
static bool frame_begins(struct connection *connection, enum side side) {
  struct flow *flow = &connection->flow[side];
  uint64_t frame = (uint64_t)int32_at(flow->head) + 4;
  int16_t api;
  struct rule *rule;

  if (side == REQUEST) note_client(connection, flow);
  api = side == REQUEST ? int16_at(flow->head + 4) : expected_api(connection, int32_at(flow->head + 4));
  connection->link->frames[side]++;
  flow->frame_position = 0;
  flow->frame_left = frame - flow->head_have;
  flow->frame_due_us = now_us() + connection->link->latency_us;
  flow->cut_at = -1;
  flow->flips = 0;
  *flow->fail_topic = 0;
  flow->swallow_frame = false;
  rule = rule_matching(connection, side, api);
  if (rule && !apply(connection, side, rule, api, frame)) return false;
  if (flow->mute) return true;
  if (side == REQUEST && !flow->swallow_frame) expect(connection, int32_at(flow->head + 8), api);
  if (!forward(connection, side, flow->head, flow->head_have)) return false;
  if (!flow->frame_left) frame_ended(flow);
  return true;
}

/* How many bytes of the frame are needed to identify it, as far as the bytes that have arrived show. */
static bool head_complete(struct flow *flow, enum side side) {
  size_t need = side == REQUEST ? REQUEST_HEAD : RESPONSE_HEAD;

  if (flow->head_have >= 4) {
    uint32_t length = (uint32_t)int32_at(flow->head);

    flow->raw = length + 4 < need || length > FRAME_MAX;
  }
  if (!flow->raw && side == REQUEST && flow->head_have >= REQUEST_HEAD) {
    int16_t client = int16_at(flow->head + 12);

    if (client > 0) need += (size_t)client;
    if (need > HEAD_MAX) need = HEAD_MAX;
    if (need > (size_t)int32_at(flow->head) + 4) flow->raw = true;
  }
  flow->head_need = need;
  return flow->head_have >= need;
}

static size_t gather_head(struct flow *flow, enum side side, const uint8_t *bytes, size_t size) {
  size_t taken = 0;

  while (!head_complete(flow, side) && !flow->raw && taken < size) flow->head[flow->head_have++] = bytes[taken++];
  return taken;
}

bool flow_take(struct connection *connection, enum side side, const uint8_t *bytes, size_t size) {
  struct flow *flow = &connection->flow[side];
  uint8_t *at = (uint8_t *)bytes;

  connection->link->bytes[side] += size;
  if (connection->link->mode == SWALLOW) flow->mute = true;
  while (size && !flow->mute) {
    size_t taken;

    if (flow->raw) {
      queue_add(&flow->queue, at, size, now_us());
      return true;
    }
    if (flow->frame_left) {
      taken = size < flow->frame_left ? size : (size_t)flow->frame_left;
      if (!forward(connection, side, at, taken)) return false;
      if (!(flow->frame_left -= taken)) frame_ended(flow);
    } else {
      taken = gather_head(flow, side, at, size);
      if (flow->raw) queue_add(&flow->queue, flow->head, flow->head_have, now_us());
      else if (head_complete(flow, side) && !frame_begins(connection, side)) return false;
    }
    at += taken;
    size -= taken;
  }
  return true;
}
