/* The cells of a ledger: see ledger.h. */
#ifndef PK_CORE_LEDGER_CELLS_H
#define PK_CORE_LEDGER_CELLS_H

#include "ledger.h"

#define PK_WORD 64
#define PK_WORD_SHIFT 6
#define PK_WORD_ALL UINT64_MAX

/* 64 offsets from key * 64 on. If there is more than one word, the others are
 * all incomplete: so a take with millions of offsets (a log with large gaps,
 * admitted as a whole) is one cell. */
struct pk_cell {
  int64_t key;
  uint64_t open;   /* incomplete */
  uint64_t done;   /* records that are complete */
  uint32_t words;  /* at least 1 */
  bool done_after; /* a complete record lies between this cell and the next */
};

static inline int64_t pk_key(int64_t offset) {
  return offset >> PK_WORD_SHIFT;
}

static inline uint64_t pk_bit(int64_t offset) {
  return UINT64_C(1) << (offset & (PK_WORD - 1));
}

static inline bool pk_cell_is_dead(const pk_cell_t *cell) {
  return cell->words == 1 && !cell->open;
}

/* Bits of the word `key` that are in [from, to); the two overlap. */
static inline uint64_t pk_mask(int64_t key, int64_t from, int64_t to) {
  int64_t start = key << PK_WORD_SHIFT;
  uint64_t mask = PK_WORD_ALL;

  if (from > start) mask &= PK_WORD_ALL << (from - start);
  if (to - start < PK_WORD) mask &= PK_WORD_ALL >> (PK_WORD - (to - start));
  return mask;
}

/* The cell that covers the offset, or NULL. */
pk_cell_t *pk_cells_find(const pk_ledger_t *ledger, int64_t offset);

/* Index of the first cell that ends after the offset; count: none. */
size_t pk_cells_after(const pk_ledger_t *ledger, int64_t offset);

/* Adds a cell at the end; NULL without memory. Cells in use stay the same, and
 * so does their number. */
pk_cell_t *pk_cells_push(pk_ledger_t *ledger, int64_t key);

/* Splits the cell in two: the first ends before word `key`, where the second
 * begins. False without memory. */
bool pk_cells_split(pk_ledger_t *ledger, pk_cell_t *cell, int64_t key);

/* Removes dead cells and frees memory, once it is worth it. */
void pk_cells_sweep(pk_ledger_t *ledger);

#endif
