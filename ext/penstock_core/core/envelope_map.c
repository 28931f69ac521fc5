/* Decides which completed ranges to write as runs and which as a bitmap.
 *
 * Runs are short where few records change: one stuck record, followed by a
 * million complete ones. A bitmap is short where records complete one by one:
 * in the window at the end. So runs come first, followed by a bitmap, and the
 * best place to switch is found by trying. */
#include "envelope_format.h"

typedef struct {
  int64_t base;
  const pk_range_t *ranges;
  size_t count, room;
  size_t runs_size;     /* of the ranges before the current one */
  uint64_t runs_offsets; /* and the number of offsets they cover */
} planner_t;

static size_t section(size_t size) {
  return size ? PK_SECTION_HEAD_BYTES + size : 0;
}

static uint64_t length(const pk_range_t *range) {
  return (uint64_t)(range->to - range->from);
}

/* Size of the head and first number of a bitmap that begins with the range. */
static size_t bitmap_head(const planner_t *planner, size_t index) {
  return PK_SECTION_HEAD_BYTES + pk_varint_size((uint64_t)(planner->ranges[index].from - planner->base));
}

static void pass(planner_t *planner, size_t index) {
  int64_t end = index ? planner->ranges[index - 1].to : planner->base;

  planner->runs_size += pk_varint_size((uint64_t)(planner->ranges[index].from - end));
  planner->runs_size += pk_varint_size(length(&planner->ranges[index]));
  planner->runs_offsets += length(&planner->ranges[index]);
}

/* -- everything ------------------------------------------------------------- */

/* Runs up to the index, and a bitmap of all the rest; the size saturates. */
static pk_map_plan_t whole_plan(const planner_t *planner, size_t index, uint64_t covered) {
  pk_map_plan_t plan = {.runs = index, .covered = covered, .size = section(planner->runs_size)};
  uint64_t bytes;

  if (index == planner->count) return plan;
  plan.bits = (uint64_t)(planner->ranges[planner->count - 1].to - planner->ranges[index].from);
  bytes = (plan.bits - 1) / 8 + 1;
  if (bytes > PK_ENVELOPE_BYTES) bytes = PK_ENVELOPE_BYTES;
  plan.size += bitmap_head(planner, index) + (size_t)bytes;
  return plan;
}

/* If sizes are equal, runs alone win, then a bitmap alone, so that short maps
 * are in one piece. */
static pk_map_plan_t smallest(planner_t *planner, uint64_t covered) {
  pk_map_plan_t all_bits = whole_plan(planner, 0, covered), best = all_bits, plan;

  for (size_t i = 0; i < planner->count && planner->runs_size <= PK_ENVELOPE_BYTES; i++) {
    pass(planner, i);
    plan = whole_plan(planner, i + 1, covered);
    if (plan.size < best.size || (plan.size == best.size && plan.runs == planner->count)) best = plan;
  }
  return best;
}

/* -- as much as fits ---------- ------------------------------------------- */

/* The ranges [from, to) end within the bitmap; together they cover this many
 * offsets. From one start to the next, the end moves forward, or back by what
 * the runs took, so the total number of moves is small. */
typedef struct {
  size_t from, to;
  uint64_t offsets;
} window_t;

static void move_end(const planner_t *planner, window_t *window, int64_t end) {
  while (window->to < planner->count && planner->ranges[window->to].to <= end) {
    window->offsets += length(&planner->ranges[window->to++]);
  }
  while (window->to > window->from && planner->ranges[window->to - 1].to > end) {
    window->offsets -= length(&planner->ranges[--window->to]);
  }
}

static void move_start(const planner_t *planner, window_t *window) {
  if (window->to > window->from) {
    window->offsets -= length(&planner->ranges[window->from]);
  } else {
    window->to++;
  }
  window->from++;
}

/* Runs up to the start of the window, and as large a bitmap as fits. */
static pk_map_plan_t cut_plan(const planner_t *planner, window_t *window) {
  pk_map_plan_t plan = {.runs = window->from, .covered = planner->runs_offsets, .size = section(planner->runs_size)};
  size_t index = window->from, head = index < planner->count ? bitmap_head(planner, index) : 0;
  int64_t first, end;

  if (index == planner->count || plan.size + head >= planner->room) return plan;
  first = planner->ranges[index].from;
  plan.bits = (uint64_t)(planner->room - plan.size - head) * 8;
  end = plan.bits > (uint64_t)(INT64_MAX - first) ? INT64_MAX : first + (int64_t)plan.bits;
  move_end(planner, window, end);
  plan.covered += window->offsets;
  if (window->to < planner->count && planner->ranges[window->to].from < end) {
    plan.covered += (uint64_t)(end - planner->ranges[window->to].from);
  }
  plan.size = planner->room;
  return plan;
}

static pk_map_plan_t fullest(planner_t *planner) {
  pk_map_plan_t best = {0}, plan;
  window_t window = {0};

  for (;;) {
    plan = cut_plan(planner, &window);
    if (plan.covered > best.covered) best = plan;
    if (window.from == planner->count) break;
    pass(planner, window.from);
    if (section(planner->runs_size) > planner->room) break;
    move_start(planner, &window);
  }
  return best;
}

pk_map_plan_t pk_map_plan(int64_t base, const pk_range_t *ranges, size_t count, size_t room) {
  planner_t planner = {.base = base, .ranges = ranges, .count = count, .room = room};
  pk_map_plan_t plan = {0};
  uint64_t covered = 0;

  if (!count) return plan;
  for (size_t i = 0; i < count; i++) covered += length(&ranges[i]);
  plan = smallest(&planner, covered);
  if (plan.size <= room) return plan;
  planner.runs_size = 0;
  planner.runs_offsets = 0;
  return fullest(&planner);
}
