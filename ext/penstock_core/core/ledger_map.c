/* Lists a ledger's completed runs for a commit, and the most space they may
 * need. */
#include "ledger.h"
#include "ledger_cells.h"

/* -- the runs --------------------------------------------------------------- */

typedef struct {
  pk_ledger_each_fn each;
  void *context;
  int64_t from; /* end of the previous incomplete offset */
  bool seen;    /* a record after it is complete */
  bool stopped;
} walk_t;

static void emit(walk_t *walk, int64_t from, int64_t to) {
  if (!walk->stopped && from < to) walk->stopped = !walk->each(walk->context, from, to);
}

/* Visits [from, to), which is incomplete. */
static void meet(walk_t *walk, int64_t from, int64_t to) {
  if (walk->seen) emit(walk, walk->from, from);
  walk->from = to;
  walk->seen = false;
}

static void walk_cell(walk_t *walk, const pk_cell_t *cell) {
  int64_t start = cell->key << PK_WORD_SHIFT;
  uint64_t open = cell->open, done = cell->done;

  while (open && !walk->stopped) {
    int bit = __builtin_ctzll(open);
    uint64_t below = (UINT64_C(1) << bit) - 1;

    if (done & below) walk->seen = true;
    meet(walk, start + bit, start + bit + 1);
    open &= open - 1;
    done &= ~below;
  }
  if (done) walk->seen = true;
  if (cell->words > 1) meet(walk, start + PK_WORD, (cell->key + cell->words) << PK_WORD_SHIFT);
  if (cell->done_after) walk->seen = true;
}

/* A restored run that the tail has reached continues the last run of the cells. */
static void walk_restored(walk_t *walk, const pk_ledger_t *ledger) {
  size_t i = 0;

  if (ledger->restored_count && ledger->restored[0].from <= ledger->tail) {
    emit(walk, walk->from, ledger->restored[0].to);
    i++;
  } else if (walk->seen) {
    emit(walk, walk->from, ledger->tail);
  }
  for (; i < ledger->restored_count && !walk->stopped; i++) emit(walk, ledger->restored[i].from, ledger->restored[i].to);
}

void pk_ledger_ranges(const pk_ledger_t *ledger, pk_ledger_each_fn each, void *context) {
  walk_t walk = {.each = each, .context = context};

  if (!ledger->known) return;
  walk.from = ledger->count ? ledger->base : pk_ledger_committable(ledger);
  for (size_t i = 0; i < ledger->count && !walk.stopped; i++) walk_cell(&walk, ledger->cells + ledger->first + i);
  walk_restored(&walk, ledger);
}

/* -- the most they may need ------------------------------------------------- */

/* Every completed run lies between two incomplete offsets, so the size is
 * bounded by the intervals between the offsets incomplete now. Completing one
 * joins two intervals. Each interval is charged so that the joined one never
 * costs more than its parts were charged (the varint of a sum is no longer than
 * the varints of the parts together):
 *
 *   with a complete record in it   1 + varint(length): it is a run by now
 *   without                        varint(2 * length): half of a run's two numbers,
 *                                  for two such intervals must join to become one
 *
 * The writer uses runs up to a point and a bitmap after it, at the cheapest
 * point; so does the bound. A stuck record before a million complete ones costs
 * one run, the window at the end one bit per offset. */
typedef struct {
  int64_t at, end; /* current offset; end of all that can be complete */
  size_t runs, best, ceiling;
  bool seen;
} bound_t;

#define BITMAP_HEAD 12 /* its section's head and first number */
#define SLACK 8        /* a run across the point */

static size_t varint_bytes(uint64_t value) {
  size_t size = 1;

  while (value >>= 7) size++;
  return size;
}

static void charge(bound_t *bound, int64_t to) {
  uint64_t length = (uint64_t)(to - bound->at);

  bound->runs += bound->seen ? 1 + varint_bytes(length) : varint_bytes(2 * length);
  bound->seen = false;
  bound->at = to;
}

/* The cost if the bitmap began here. */
static void weigh(bound_t *bound) {
  uint64_t bits = ((uint64_t)(bound->end - bound->at) + 7) / 8;
  size_t cost;

  if (bits > bound->ceiling) return;
  cost = bound->runs + BITMAP_HEAD + (size_t)bits;
  if (cost < bound->best) bound->best = cost;
}

static void bound_open(bound_t *bound, int64_t offset) {
  if (offset > bound->at) charge(bound, offset);
  weigh(bound);
}

static void bound_cell(bound_t *bound, const pk_cell_t *cell) {
  int64_t start = cell->key << PK_WORD_SHIFT;
  uint64_t open = cell->open, done = cell->done;

  while (open && bound->runs < bound->ceiling) {
    int bit = __builtin_ctzll(open);
    uint64_t below = (UINT64_C(1) << bit) - 1;

    if (done & below) bound->seen = true;
    bound_open(bound, start + bit);
    open &= open - 1;
    done &= ~below;
  }
  if (done) bound->seen = true;
  for (uint64_t i = 0; i < (uint64_t)(cell->words - 1) * PK_WORD && bound->runs < bound->ceiling; i++) {
    bound_open(bound, start + PK_WORD + (int64_t)i);
  }
  if (cell->done_after) bound->seen = true;
}

static void bound_restored(bound_t *bound, const pk_ledger_t *ledger) {
  int64_t end = ledger->tail;

  for (size_t i = 0; i < ledger->restored_count; i++) {
    const pk_range_t *run = &ledger->restored[i];
    int64_t from = run->from > end ? run->from : end;

    bound->runs += varint_bytes((uint64_t)(from - end) + 1) + varint_bytes((uint64_t)(run->to - from));
    end = run->to;
  }
}

size_t pk_ledger_map_bound(const pk_ledger_t *ledger, size_t ceiling) {
  bound_t bound = {.at = ledger->base, .end = ledger->tail, .best = ceiling, .ceiling = ceiling};

  if (!ledger->known) return 0;
  if (ledger->restored_count) bound.end = ledger->restored[ledger->restored_count - 1].to;
  for (size_t i = 0; i < ledger->count && bound.runs < ceiling; i++) {
    bound_cell(&bound, ledger->cells + ledger->first + i);
  }
  if (bound.runs < ceiling && bound.at < ledger->tail) charge(&bound, ledger->tail);
  if (bound.runs < ceiling) bound_restored(&bound, ledger);
  if (bound.end - ledger->base <= 1) return 0;
  if (bound.runs < bound.best) bound.best = bound.runs;
  bound.best += SLACK;
  return bound.best < ceiling ? bound.best : ceiling;
}
