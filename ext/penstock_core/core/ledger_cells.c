#include "ledger_cells.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST 16 /* cells */
#define WORTH_SHRINKING 64
#define FEW_DEAD 32

static pk_cell_t *live(const pk_ledger_t *ledger) {
  return ledger->cells + ledger->first;
}

/* -- finding ---------------------------------------------------------------- */

/* Where the key would be if the keys were spread evenly, as they mostly are:
 * exact where offsets are dense. The key lies between the first and the last. */
static size_t guess(const pk_cell_t *cells, size_t count, int64_t key) {
  double share = (double)(key - cells[0].key) / (double)(cells[count - 1].key - cells[0].key);
  size_t index = (size_t)(share * (double)(count - 1));

  return index < count ? index : count - 1;
}

/* Doubles the step from the guess until the key is in [*low, *high): keys near
 * the guess are found without touching distant memory. */
static void bracket(const pk_cell_t *cells, size_t count, int64_t key, size_t *low, size_t *high) {
  size_t at = guess(cells, count, key), step = 1;

  if (cells[at].key <= key) {
    for (*low = at; at + step < count && cells[at + step].key <= key; step *= 2) *low = at + step;
    *high = at + step < count ? at + step : count;
  } else {
    for (*high = at; step < at && cells[at - step].key > key; step *= 2) *high = at - step;
    *low = step < at ? at - step : 0;
  }
}

/* Index of the last cell whose key isn't above the given one; -1: none. */
static long last_not_above(const pk_ledger_t *ledger, int64_t key) {
  const pk_cell_t *cells = live(ledger);
  size_t low, high;

  if (!ledger->count || key < cells[0].key) return -1;
  if (cells[ledger->count - 1].key <= key) return (long)ledger->count - 1;
  bracket(cells, ledger->count, key, &low, &high);
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;

    if (cells[middle].key <= key) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return (long)low;
}

pk_cell_t *pk_cells_find(const pk_ledger_t *ledger, int64_t offset) {
  int64_t key = pk_key(offset);
  long index = last_not_above(ledger, key);
  pk_cell_t *cell;

  if (index < 0) return NULL;
  cell = live(ledger) + index;
  return key - cell->key < (int64_t)cell->words ? cell : NULL;
}

size_t pk_cells_after(const pk_ledger_t *ledger, int64_t offset) {
  long index = last_not_above(ledger, pk_key(offset));

  if (index < 0) return 0;
  return pk_cells_find(ledger, offset) ? (size_t)index : (size_t)index + 1;
}

/* -- room ------------------------------------------------------------------- */

static bool resize(pk_ledger_t *ledger, size_t capacity) {
  pk_cell_t *cells;

  if (capacity > SIZE_MAX / sizeof *cells) return false;
  if (ledger->count) memmove(ledger->cells, live(ledger), ledger->count * sizeof *cells);
  ledger->first = 0;
  cells = realloc(ledger->cells, capacity * sizeof *cells);
  if (!cells) return false;
  ledger->cells = cells;
  ledger->capacity = capacity;
  return true;
}

static bool make_room(pk_ledger_t *ledger) {
  if (ledger->first + ledger->count < ledger->capacity) return true;
  if (ledger->first > ledger->capacity / 2) return resize(ledger, ledger->capacity);
  return resize(ledger, ledger->capacity ? ledger->capacity * 2 : SMALLEST);
}

pk_cell_t *pk_cells_push(pk_ledger_t *ledger, int64_t key) {
  pk_cell_t *cell;

  if (!make_room(ledger)) return NULL;
  cell = live(ledger) + ledger->count++;
  *cell = (pk_cell_t){.key = key, .words = 1};
  return cell;
}

bool pk_cells_split(pk_ledger_t *ledger, pk_cell_t *cell, int64_t key) {
  size_t index = (size_t)(cell - live(ledger));
  pk_cell_t *first;

  if (!make_room(ledger)) return false;
  first = live(ledger) + index;
  memmove(first + 1, first, (ledger->count - index) * sizeof *first);
  ledger->count++;
  first[1].words = (uint32_t)(first->key + first->words - key);
  first[1].key = key;
  first[1].open = PK_WORD_ALL;
  first[1].done = 0;
  first->words = (uint32_t)(key - first->key);
  first->done_after = false;
  if (pk_cell_is_dead(first)) ledger->dead++;
  return true;
}

/* -- sweeping --------------------------------------------------------------- */

/* The neighbour keeps what a dead cell knew: that something there is complete. */
static void drop_dead(pk_ledger_t *ledger) {
  pk_cell_t *cells = live(ledger);
  size_t kept = 0;

  for (size_t i = 0; i < ledger->count; i++) {
    if (i && pk_cell_is_dead(&cells[i])) {
      if (cells[i].done || cells[i].done_after) cells[kept - 1].done_after = true;
    } else {
      cells[kept++] = cells[i];
    }
  }
  ledger->count = kept;
  ledger->dead = 0;
}

/* Removes half of the cells, or half of the space, so that the cost per cell is
 * constant. */
void pk_cells_sweep(pk_ledger_t *ledger) {
  if (ledger->dead > FEW_DEAD && ledger->dead > ledger->count / 2) drop_dead(ledger);
  if (!ledger->count) ledger->first = 0;
  if (ledger->capacity > WORTH_SHRINKING && ledger->count < ledger->capacity / 8) {
    resize(ledger, ledger->count < SMALLEST ? WORTH_SHRINKING : ledger->count * 4);
  }
}
