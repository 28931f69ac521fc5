/* Compares the ledger with an array of one letter per offset: '.' a gap, 'o'
 * incomplete, 'x' complete. */
#include <limits.h>

#include "check.h"
#include "ledger.h"

#define SPAN 6000

static char model[SPAN + 200];
static int64_t model_tail;

static int64_t model_base(void) {
  for (int64_t i = 0; i < model_tail; i++) {
    if (model[i] == 'o') return i;
  }
  return model_tail;
}

static uint64_t model_incomplete(void) {
  uint64_t count = 0;

  for (int64_t i = 0; i < model_tail; i++) count += model[i] == 'o';
  return count;
}

/* -- comparing -------------------------------------------------------------- */

static bool run_is_sound(void *context, int64_t from, int64_t to) {
  int64_t *last = context;
  bool record = false;

  CHECK(from > *last && to > from && to <= model_tail);
  for (int64_t i = from; i < to; i++) {
    CHECK(model[i] != 'o');
    if (model[i] == 'x') record = true, model[i] = 'X'; /* reported */
  }
  CHECK(record);
  *last = to;
  return true;
}

static void runs_say_all_that_is_complete(const pk_ledger_t *ledger) {
  int64_t last = ledger->base;

  pk_ledger_ranges(ledger, run_is_sound, &last);
  for (int64_t i = ledger->base; i < model_tail; i++) {
    CHECK(model[i] != 'x');
    if (model[i] == 'X') model[i] = 'x';
  }
}

static void same(const pk_ledger_t *ledger) {
  int64_t at = 0, found;

  CHECK(ledger->base == model_base() && ledger->tail == model_tail);
  CHECK(ledger->incomplete == model_incomplete());
  for (int64_t i = 0; i < model_tail; i++) {
    if (model[i] != 'o') continue;
    CHECK(pk_ledger_next_incomplete(ledger, at, &found) && found == i);
    CHECK(!pk_ledger_is_complete(ledger, i));
    at = i + 1;
  }
  CHECK(!pk_ledger_next_incomplete(ledger, at, &found));
  runs_say_all_that_is_complete(ledger);
}

/* -- steps ------------------------------------------------------------------ */

static void admit(pk_ledger_t *ledger) {
  int64_t offsets[100], from = model_tail, to = from + random_below(100);
  size_t count = 0;
  bool all = random_below(2);

  for (int64_t i = from; i < to; i++) {
    model[i] = all || random_below(3) ? 'o' : '.';
    if (model[i] == 'o') offsets[count++] = i;
  }
  model_tail = to;
  CHECK(pk_ledger_admit(ledger, from, to, all ? NULL : offsets, count) == PK_LEDGER_OK);
}

static void complete(pk_ledger_t *ledger) {
  int64_t offset = random_below((unsigned)model_tail + 2);
  bool changed, expected = offset < model_tail && model[offset] == 'o';

  CHECK(pk_ledger_complete(ledger, offset, &changed) == PK_LEDGER_OK && changed == expected);
  if (expected) model[offset] = 'x';
}

static void complete_through(pk_ledger_t *ledger) {
  int64_t offset = random_below((unsigned)model_tail + 2), before = ledger->base;

  CHECK(pk_ledger_complete_through(ledger, offset) == (offset > before && before < model_tail));
  for (int64_t i = 0; i < offset && i < model_tail; i++) {
    if (model[i] == 'o') model[i] = 'x';
  }
}

static void any_steps_agree_with_the_model(void) {
  for (int round = 0; round < 40; round++) {
    pk_ledger_t ledger = {0};

    model_tail = 0;
    pk_ledger_reset(&ledger, 0);
    while (model_tail < SPAN / 4) {
      admit(&ledger);
      for (unsigned i = random_below(120); i > 0; i--) complete(&ledger);
      if (!random_below(12)) complete_through(&ledger);
      same(&ledger);
    }
    pk_ledger_free(&ledger);
  }
}

/* -- limits ----------------------------------------------------------------- */

static void a_stuck_record_costs_a_cell(void) {
  pk_ledger_t ledger = {0};
  bool changed;

  pk_ledger_reset(&ledger, 0);
  for (int64_t from = 0; from < 1000000; from += 1000) {
    CHECK(pk_ledger_admit(&ledger, from, from + 1000, NULL, 0) == PK_LEDGER_OK);
    for (int64_t i = from; i < from + 1000; i++) {
      if (i) pk_ledger_complete(&ledger, i, &changed);
    }
  }
  CHECK(ledger.base == 0 && ledger.incomplete == 1 && pk_ledger_footprint(&ledger) < 8192);
  pk_ledger_complete(&ledger, 0, &changed);
  CHECK(ledger.base == 1000000 && ledger.count == 0);
  pk_ledger_free(&ledger);
}

static void memory_is_given_back(void) {
  pk_ledger_t ledger = {0};
  bool changed;

  pk_ledger_reset(&ledger, 0);
  for (int64_t i = 0; i < 100000; i++) {
    int64_t offset = i * 1000;

    CHECK(pk_ledger_admit(&ledger, ledger.tail, offset + 1, &offset, 1) == PK_LEDGER_OK);
  }
  CHECK(pk_ledger_footprint(&ledger) > 1000000);
  for (int64_t i = 99999; i > 0; i--) pk_ledger_complete(&ledger, i * 1000, &changed);
  CHECK(ledger.incomplete == 1 && pk_ledger_footprint(&ledger) < 8192);
  pk_ledger_free(&ledger);
}

static void the_last_offsets_don_t_overflow(void) {
  pk_ledger_t ledger = {0};
  bool changed;
  int64_t last = INT64_MAX - 1, found;

  pk_ledger_reset(&ledger, INT64_MAX - 200);
  CHECK(pk_ledger_admit(&ledger, INT64_MAX - 200, INT64_MAX, NULL, 0) == PK_LEDGER_OK && ledger.incomplete == 200);
  CHECK(pk_ledger_complete(&ledger, last, &changed) == PK_LEDGER_OK && changed);
  CHECK(pk_ledger_complete(&ledger, INT64_MAX, &changed) == PK_LEDGER_OK && !changed);
  CHECK(pk_ledger_next_incomplete(&ledger, last - 1, &found) && found == last - 1);
  CHECK(!pk_ledger_next_incomplete(&ledger, last, &found));
  CHECK(pk_ledger_complete_through(&ledger, INT64_MAX) && ledger.base == INT64_MAX && ledger.incomplete == 0);
  CHECK(pk_ledger_admit(&ledger, INT64_MAX, INT64_MAX, NULL, 0) == PK_LEDGER_OK);
  CHECK(pk_ledger_admit(&ledger, INT64_MAX, 5, NULL, 0) == PK_LEDGER_DISCONTINUITY);
  pk_ledger_free(&ledger);
}

static void a_span_of_all_offsets_is_a_few_cells(void) {
  pk_ledger_t ledger = {0};
  bool changed;

  pk_ledger_reset(&ledger, 1);
  CHECK(pk_ledger_admit(&ledger, 1, INT64_C(1) << 40, NULL, 0) == PK_LEDGER_OK);
  CHECK(pk_ledger_footprint(&ledger) < 8192 && ledger.incomplete == (UINT64_C(1) << 40) - 1);
  for (int64_t offset = 100; offset < INT64_C(1) << 40; offset *= 3) {
    CHECK(pk_ledger_complete(&ledger, offset, &changed) == PK_LEDGER_OK && changed);
    CHECK(pk_ledger_complete(&ledger, offset, &changed) == PK_LEDGER_OK && !changed);
    CHECK(pk_ledger_is_complete(&ledger, offset) && !pk_ledger_is_complete(&ledger, offset + 1));
  }
  CHECK(pk_ledger_complete_through(&ledger, INT64_C(1) << 39) && ledger.base == INT64_C(1) << 39);
  CHECK(pk_ledger_map_bound(&ledger, 5000) == 5000);
  pk_ledger_free(&ledger);
}

static void what_isn_t_so_is_refused(void) {
  static const int64_t same_twice[] = {5, 5}, outside[] = {9};
  static const pk_range_t touching[] = {{20, 30}, {30, 40}}, below[] = {{3, 7}, {9, 12}};
  pk_ledger_t ledger = {0};

  CHECK(pk_ledger_restore(&ledger, below, 2) == PK_LEDGER_INVALID);
  pk_ledger_reset(&ledger, 5);
  CHECK(pk_ledger_admit(&ledger, 6, 9, NULL, 0) == PK_LEDGER_DISCONTINUITY);
  CHECK(pk_ledger_admit(&ledger, 5, 9, same_twice, 2) == PK_LEDGER_INVALID);
  CHECK(pk_ledger_admit(&ledger, 5, 9, outside, 1) == PK_LEDGER_INVALID);
  CHECK(pk_ledger_restore(&ledger, touching, 2) == PK_LEDGER_INVALID);
  CHECK(ledger.tail == 5 && ledger.incomplete == 0);
  CHECK(pk_ledger_restore(&ledger, below, 2) == PK_LEDGER_OK && ledger.restored_count == 1);
  CHECK(!pk_ledger_is_complete(&ledger, 6) && pk_ledger_is_complete(&ledger, 9));
  pk_ledger_free(&ledger);
}

int main(void) {
  any_steps_agree_with_the_model();
  a_stuck_record_costs_a_cell();
  memory_is_given_back();
  the_last_offsets_don_t_overflow();
  a_span_of_all_offsets_is_a_few_cells();
  what_isn_t_so_is_refused();
  return report();
}
