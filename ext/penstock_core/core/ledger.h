/* Tracks which records of one owned partition are complete, without Ruby.
 *
 * `base` is the lowest incomplete offset, `tail` the end of what was admitted
 * and the offset at which the next take begins. Offsets in [base, tail) that
 * aren't incomplete are complete, gaps included. After the tail there may be
 * runs that an earlier owner completed: records admitted there are already
 * complete.
 *
 * Incomplete offsets are stored in cells of 64, in ascending order. A cell is
 * searched near the place it would have if all were spread evenly. Completed
 * cells are swept once they are half of all cells. So memory depends on the
 * number of incomplete records, not on the span: a record stuck for a day costs
 * one cell.
 *
 * One owner, one thread at a time. Functions that allocate may return
 * PK_LEDGER_NO_MEMORY; then they have changed nothing. */
#ifndef PK_CORE_LEDGER_H
#define PK_CORE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envelope.h"

typedef enum {
  PK_LEDGER_OK = 0,
  PK_LEDGER_DISCONTINUITY, /* the span doesn't begin at the tail, or ends before it */
  PK_LEDGER_INVALID,       /* offsets that don't ascend, are outside of the span, or negative */
  PK_LEDGER_NO_MEMORY
} pk_ledger_status_t;

typedef struct pk_cell pk_cell_t;

typedef struct {
  bool known; /* base and tail are valid */
  int64_t base, tail;
  uint64_t incomplete;
  uint64_t version; /* grows whenever base or the completed runs may have changed */
  pk_cell_t *cells; /* in use: [first, first + count) */
  size_t first, count, capacity;
  size_t dead; /* cells in use with nothing incomplete; never the first one */
  pk_range_t *restored;
  size_t restored_count, restored_capacity; /* ascending, not touching, above the tail or across it */
} pk_ledger_t;

/* A zeroed ledger is valid and not known. */
void pk_ledger_free(pk_ledger_t *ledger);
size_t pk_ledger_footprint(const pk_ledger_t *ledger);

/* Copies `ledger` into `copy`, which must be empty. */
pk_ledger_status_t pk_ledger_copy(pk_ledger_t *copy, const pk_ledger_t *ledger);

/* Starts again at base; base < 0: unknown. Drops restored runs too. */
void pk_ledger_reset(pk_ledger_t *ledger, int64_t base);

/* Adds complete runs above the tail. Runs that begin at or below it are left
 * out: a map can't be right about the committed offset itself. */
pk_ledger_status_t pk_ledger_restore(pk_ledger_t *ledger, const pk_range_t *ranges, size_t count);

/* Admits the span [from, to). Without offsets, every offset of it is a record. */
pk_ledger_status_t pk_ledger_admit(pk_ledger_t *ledger, int64_t from, int64_t to, const int64_t *offsets, size_t count);

/* The restored run that contains the offset, or the first one after it; NULL:
 * none. */
const pk_range_t *pk_ledger_restored_at(const pk_ledger_t *ledger, int64_t offset);

/* *changed: it was incomplete. */
pk_ledger_status_t pk_ledger_complete(pk_ledger_t *ledger, int64_t offset, bool *changed);

/* Completes everything below the offset, but nothing after the tail. Returns
 * whether base moved. */
bool pk_ledger_complete_through(pk_ledger_t *ledger, int64_t offset);

bool pk_ledger_is_complete(const pk_ledger_t *ledger, int64_t offset);

/* The offset to commit: base, or, when nothing is incomplete and a restored run
 * begins at the tail, the end of that run. Requires a known ledger. */
int64_t pk_ledger_committable(const pk_ledger_t *ledger);

/* The first incomplete offset at or after `offset`; false: none. */
bool pk_ledger_next_incomplete(const pk_ledger_t *ledger, int64_t offset, int64_t *found);

/* Complete runs above the offset to commit, ascending and not touching. A range
 * without records (a gap of the log) isn't a run, since it will never be
 * queried. `each` ends the walk by returning false. */
typedef bool (*pk_ledger_each_fn)(void *context, int64_t from, int64_t to);
void pk_ledger_ranges(const pk_ledger_t *ledger, pk_ledger_each_fn each, void *context);

/* The most bytes that the completed runs can take in an envelope, if the rest
 * completes in the worst order and nothing is admitted. Never more than
 * `ceiling`. */
size_t pk_ledger_map_bound(const pk_ledger_t *ledger, size_t ceiling);

#endif
