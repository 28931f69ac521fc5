#include "ledger.h"

#include <stdlib.h>
#include <string.h>

#include "ledger_cells.h"

/* From this many words on, offsets that are all incomplete share a cell. Below,
 * each word gets its own cell, so that completing some in the middle is cheap. */
#define SOLID_WORDS 1024

static pk_cell_t *head(const pk_ledger_t *ledger) {
  return ledger->cells + ledger->first;
}

static pk_cell_t *last(const pk_ledger_t *ledger) {
  return ledger->count ? head(ledger) + ledger->count - 1 : NULL;
}

static int64_t end_of(const pk_cell_t *cell) {
  int64_t key = cell->key + cell->words;

  return key > pk_key(INT64_MAX) ? INT64_MAX : key << PK_WORD_SHIFT;
}

/* -- life cycle ------------------------------------------------------------------- */

void pk_ledger_free(pk_ledger_t *ledger) {
  free(ledger->cells);
  free(ledger->restored);
  memset(ledger, 0, sizeof *ledger);
}

size_t pk_ledger_footprint(const pk_ledger_t *ledger) {
  return ledger->capacity * sizeof *ledger->cells + ledger->restored_capacity * sizeof *ledger->restored;
}

pk_ledger_status_t pk_ledger_copy(pk_ledger_t *copy, const pk_ledger_t *ledger) {
  pk_cell_t *cells = ledger->count ? malloc(ledger->count * sizeof *cells) : NULL;
  pk_range_t *restored = ledger->restored_count ? malloc(ledger->restored_count * sizeof *restored) : NULL;

  if ((ledger->count && !cells) || (ledger->restored_count && !restored)) {
    free(cells);
    free(restored);
    return PK_LEDGER_NO_MEMORY;
  }
  *copy = *ledger;
  if (cells) memcpy(cells, head(ledger), ledger->count * sizeof *cells);
  if (restored) memcpy(restored, ledger->restored, ledger->restored_count * sizeof *restored);
  copy->cells = cells;
  copy->first = 0;
  copy->capacity = ledger->count;
  copy->restored = restored;
  copy->restored_capacity = ledger->restored_count;
  return PK_LEDGER_OK;
}

static void forget_restored(pk_ledger_t *ledger) {
  free(ledger->restored);
  ledger->restored = NULL;
  ledger->restored_count = ledger->restored_capacity = 0;
}

void pk_ledger_reset(pk_ledger_t *ledger, int64_t base) {
  uint64_t version = ledger->version;

  pk_ledger_free(ledger);
  ledger->known = base >= 0;
  ledger->base = ledger->tail = base < 0 ? 0 : base;
  ledger->version = version + 1;
}

/* -- what an earlier owner completed ------------------------------------------ */

static bool ascend(const pk_range_t *ranges, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (ranges[i].from < 0 || ranges[i].to <= ranges[i].from) return false;
    if (i && ranges[i].from <= ranges[i - 1].to) return false;
  }
  return true;
}

pk_ledger_status_t pk_ledger_restore(pk_ledger_t *ledger, const pk_range_t *ranges, size_t count) {
  pk_range_t *copy;

  if (!ledger->known || !ascend(ranges, count)) return PK_LEDGER_INVALID;
  while (count && ranges->from <= ledger->tail) ranges++, count--;
  copy = count ? malloc(count * sizeof *copy) : NULL;
  if (count && !copy) return PK_LEDGER_NO_MEMORY;
  if (count) memcpy(copy, ranges, count * sizeof *copy);
  forget_restored(ledger);
  ledger->restored = copy;
  ledger->restored_count = ledger->restored_capacity = count;
  ledger->version++;
  return PK_LEDGER_OK;
}

const pk_range_t *pk_ledger_restored_at(const pk_ledger_t *ledger, int64_t offset) {
  size_t low = 0, high = ledger->restored_count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (ledger->restored[middle].to <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < ledger->restored_count ? &ledger->restored[low] : NULL;
}

/* Removes restored runs that the tail has passed: they are in the cells now. */
static void use_restored(pk_ledger_t *ledger) {
  const pk_range_t *left = pk_ledger_restored_at(ledger, ledger->tail);
  size_t used = left ? (size_t)(left - ledger->restored) : ledger->restored_count;

  if (!used) return;
  ledger->restored_count -= used;
  if (!ledger->restored_count) {
    forget_restored(ledger);
  } else {
    memmove(ledger->restored, left, ledger->restored_count * sizeof *left);
  }
}

/* -- admitting -------------------------------------------------------------- */

static void open_bits(pk_ledger_t *ledger, pk_cell_t *cell, uint64_t bits) {
  cell->open |= bits;
  ledger->incomplete += (uint64_t)__builtin_popcountll(bits);
}

static bool open_word(pk_ledger_t *ledger, int64_t key, uint64_t bits) {
  pk_cell_t *cell = last(ledger);

  if (cell && cell->key == key) {
    if (pk_cell_is_dead(cell)) ledger->dead--;
  } else if (!(cell = pk_cells_push(ledger, key))) {
    return false;
  }
  open_bits(ledger, cell, bits);
  return true;
}

/* Whole words from `key` up to `end`. */
static bool open_words(pk_ledger_t *ledger, int64_t key, int64_t end) {
  while (key < end) {
    int64_t words = end - key < SOLID_WORDS ? 1 : end - key;

    if (words > UINT32_MAX) words = UINT32_MAX;
    if (!open_word(ledger, key, PK_WORD_ALL)) return false;
    last(ledger)->words = (uint32_t)words;
    ledger->incomplete += (uint64_t)(words - 1) * PK_WORD;
    key += words;
  }
  return true;
}

/* All of [from, to), which isn't empty. */
static bool open_span(pk_ledger_t *ledger, int64_t from, int64_t to) {
  int64_t key = pk_key(from), end = pk_key(to);

  if (key == end) return open_word(ledger, key, pk_mask(key, from, to));
  if (from & (PK_WORD - 1)) {
    if (!open_word(ledger, key, pk_mask(key, from, INT64_MAX))) return false;
    key++;
  }
  if (!open_words(ledger, key, end)) return false;
  return !(to & (PK_WORD - 1)) || open_word(ledger, end, pk_mask(end, 0, to));
}

/* Records that are complete when admitted are stored only if something before
 * them is incomplete. */
static void done_span(pk_ledger_t *ledger, int64_t from, int64_t to) {
  pk_cell_t *cell = last(ledger);

  if (!cell) return;
  if (cell->words == 1 && cell->key == pk_key(from)) cell->done |= pk_mask(cell->key, from, to);
  if (end_of(cell) < to) cell->done_after = true;
}

/* Admits [from, to), where every offset is a record, except restored ones. */
static bool admit_span(pk_ledger_t *ledger, int64_t from, int64_t to) {
  while (from < to) {
    const pk_range_t *run = pk_ledger_restored_at(ledger, from);
    int64_t open_end = run && run->from < to ? run->from : to;

    if (open_end > from && !open_span(ledger, from, open_end)) return false;
    if (open_end > from) from = open_end;
    if (from >= to) break;
    done_span(ledger, from, run->to < to ? run->to : to);
    from = run->to;
  }
  return true;
}

static bool admit_offsets(pk_ledger_t *ledger, const int64_t *offsets, size_t count) {
  const pk_range_t *run = NULL;

  for (size_t i = 0; i < count; i++) {
    int64_t offset = offsets[i];

    if (ledger->restored_count && (!run || run->to <= offset)) run = pk_ledger_restored_at(ledger, offset);
    if (run && run->from <= offset && offset < run->to) {
      done_span(ledger, offset, offset + 1);
    } else if (!open_word(ledger, pk_key(offset), pk_bit(offset))) {
      return false;
    }
  }
  return true;
}

static bool offsets_fit(int64_t from, int64_t to, const int64_t *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (offsets[i] < from || offsets[i] >= to) return false;
    if (i && offsets[i] <= offsets[i - 1]) return false;
  }
  return true;
}

/* Whether the runs may have changed although nothing was completed: a gap or a
 * restored run after the old tail lengthens the run that ended there. */
static bool lengthens(const pk_ledger_t *ledger, int64_t from, const int64_t *offsets, size_t count) {
  return ledger->restored_count || (offsets && (!count || offsets[0] != from));
}

static void settle_tail(pk_ledger_t *ledger, int64_t to) {
  int64_t base = to;

  ledger->tail = to;
  if (ledger->count) base = (head(ledger)->key << PK_WORD_SHIFT) + __builtin_ctzll(head(ledger)->open);
  if (base != ledger->base) ledger->version++;
  ledger->base = base;
  use_restored(ledger);
}

/* Cells are only added at the end, so that the earlier state can be restored. */
static bool admit_records(pk_ledger_t *ledger, int64_t from, int64_t to, const int64_t *offsets, size_t count) {
  pk_ledger_t before = *ledger;
  pk_cell_t end = ledger->count ? *last(ledger) : (pk_cell_t){.words = 0};

  if (offsets ? admit_offsets(ledger, offsets, count) : admit_span(ledger, from, to)) return true;
  ledger->count = before.count;
  ledger->dead = before.dead;
  ledger->incomplete = before.incomplete;
  if (ledger->count) *last(ledger) = end;
  return false;
}

pk_ledger_status_t pk_ledger_admit(pk_ledger_t *ledger, int64_t from, int64_t to, const int64_t *offsets,
                                   size_t count) {
  if (ledger->known && from != ledger->tail) return PK_LEDGER_DISCONTINUITY;
  if (to < from) return PK_LEDGER_DISCONTINUITY;
  if (from < 0 || (offsets && !offsets_fit(from, to, offsets, count))) return PK_LEDGER_INVALID;
  if (!admit_records(ledger, from, to, offsets, count)) return PK_LEDGER_NO_MEMORY;
  if (!ledger->known) ledger->base = from;
  if (!ledger->known || lengthens(ledger, from, offsets, count)) ledger->version++;
  ledger->known = true;
  settle_tail(ledger, to);
  return PK_LEDGER_OK;
}

/* -- completing ------------------------------------------------------------- */

/* Drops complete words of the first cell, then complete cells, up to the first
 * incomplete offset. */
static void advance(pk_ledger_t *ledger) {
  while (ledger->count && !head(ledger)->open) {
    pk_cell_t *cell = head(ledger);

    if (cell->words > 1) {
      cell->key++, cell->words--;
      cell->open = PK_WORD_ALL, cell->done = 0;
      break;
    }
    ledger->first++, ledger->count--;
    if (ledger->count && pk_cell_is_dead(head(ledger))) ledger->dead--;
  }
  ledger->base = ledger->count ? (head(ledger)->key << PK_WORD_SHIFT) + __builtin_ctzll(head(ledger)->open) : ledger->tail;
}

pk_ledger_status_t pk_ledger_complete(pk_ledger_t *ledger, int64_t offset, bool *changed) {
  pk_cell_t *cell = NULL;
  uint64_t bit = pk_bit(offset);

  *changed = false;
  if (ledger->known && offset >= ledger->base && offset < ledger->tail) cell = pk_cells_find(ledger, offset);
  if (!cell) return PK_LEDGER_OK;
  if (pk_key(offset) != cell->key) {
    if (!pk_cells_split(ledger, cell, pk_key(offset))) return PK_LEDGER_NO_MEMORY;
    cell = pk_cells_find(ledger, offset);
  }
  if (!(cell->open & bit)) return PK_LEDGER_OK;
  cell->open &= ~bit;
  cell->done |= bit;
  ledger->incomplete--;
  ledger->version++;
  *changed = true;
  if (offset == ledger->base) {
    advance(ledger);
  } else if (pk_cell_is_dead(cell)) {
    ledger->dead++;
  }
  pk_cells_sweep(ledger);
  return PK_LEDGER_OK;
}

static uint64_t incomplete_in(const pk_cell_t *cell) {
  return (uint64_t)__builtin_popcountll(cell->open) + (uint64_t)(cell->words - 1) * PK_WORD;
}

static void pop_head(pk_ledger_t *ledger) {
  if (pk_cell_is_dead(head(ledger))) ledger->dead--;
  ledger->incomplete -= incomplete_in(head(ledger));
  ledger->first++, ledger->count--;
}

/* Cuts the first cell at `reached`, which is inside it. */
static void cut_head(pk_ledger_t *ledger, int64_t reached) {
  pk_cell_t *cell = head(ledger);
  int64_t key = pk_key(reached);
  uint64_t below = pk_bit(reached) - 1;
  bool was_dead = pk_cell_is_dead(cell);

  ledger->incomplete -= incomplete_in(cell);
  if (key > cell->key) {
    cell->words -= (uint32_t)(key - cell->key);
    cell->key = key;
    cell->open = PK_WORD_ALL, cell->done = 0;
  }
  cell->done |= cell->open & below;
  cell->open &= ~below;
  ledger->incomplete += incomplete_in(cell);
  if (was_dead) ledger->dead--;
}

bool pk_ledger_complete_through(pk_ledger_t *ledger, int64_t offset) {
  int64_t reached = offset < ledger->tail ? offset : ledger->tail;

  if (!ledger->known || reached <= ledger->base) return false;
  while (ledger->count && end_of(head(ledger)) <= reached) pop_head(ledger);
  if (ledger->count && head(ledger)->key << PK_WORD_SHIFT < reached) {
    cut_head(ledger, reached);
  } else if (ledger->count && pk_cell_is_dead(head(ledger))) {
    ledger->dead--;
  }
  advance(ledger);
  ledger->version++;
  pk_cells_sweep(ledger);
  return true;
}

/* -- queries ---------------------------------------------------------------- */

static bool is_restored(const pk_ledger_t *ledger, int64_t offset) {
  const pk_range_t *run = pk_ledger_restored_at(ledger, offset);

  return run && run->from <= offset;
}

static bool is_open(const pk_ledger_t *ledger, int64_t offset) {
  const pk_cell_t *cell = pk_cells_find(ledger, offset);

  return cell && (pk_key(offset) > cell->key || cell->open & pk_bit(offset));
}

bool pk_ledger_is_complete(const pk_ledger_t *ledger, int64_t offset) {
  if (!ledger->known) return false;
  if (offset >= ledger->tail) return is_restored(ledger, offset);
  return offset < ledger->base || !is_open(ledger, offset);
}

int64_t pk_ledger_committable(const pk_ledger_t *ledger) {
  const pk_range_t *run = ledger->incomplete ? NULL : pk_ledger_restored_at(ledger, ledger->tail);

  return run && run->from <= ledger->tail ? run->to : ledger->base;
}

bool pk_ledger_next_incomplete(const pk_ledger_t *ledger, int64_t offset, int64_t *found) {
  if (offset < ledger->base) offset = ledger->base;
  for (size_t i = pk_cells_after(ledger, offset); i < ledger->count; i++) {
    const pk_cell_t *cell = head(ledger) + i;
    int64_t start = cell->key << PK_WORD_SHIFT;
    uint64_t open = cell->open;

    if (pk_key(offset) > cell->key) {
      *found = offset;
      return true; /* a later word of several: all of it is incomplete */
    }
    if (offset > start) open &= PK_WORD_ALL << (offset - start);
    if (open) *found = start + __builtin_ctzll(open);
    if (!open && cell->words > 1) *found = start + PK_WORD;
    if (open || cell->words > 1) return true;
    offset = end_of(cell);
  }
  return false;
}
