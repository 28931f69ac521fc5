/* What is done and what isn't in one owned partition, without Ruby.
 *
 * `base` is the lowest incomplete offset, `tail` the end of what was admitted and
 * the place where the next take begins. What lies in [base, tail) and isn't
 * incomplete is complete, gaps included. Beyond the tail there may be runs that a
 * former owner completed: records that turn up there are complete on arrival.
 *
 * Incomplete offsets stand in cells of 64, in ascending order, and a cell is looked
 * for where it would be if they were spread evenly, then near it. Cells that are done
 * are swept when they are the half of all. So memory follows the number of incomplete
 * records, not the span: a record that is stuck for a day costs one cell.
 *
 * One owner, one thread at a time. Functions that may need memory answer
 * PK_LEDGER_NO_MEMORY and have changed nothing then. */
#ifndef PK_CORE_LEDGER_H
#define PK_CORE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envelope.h"

typedef enum {
  PK_LEDGER_OK = 0,
  PK_LEDGER_DISCONTINUITY, /* the span doesn't begin at the tail, or ends before it */
  PK_LEDGER_INVALID,       /* offsets that don't ascend, lie outside of the span, or are negative */
  PK_LEDGER_NO_MEMORY
} pk_ledger_status_t;

typedef struct pk_cell pk_cell_t;

typedef struct {
  bool known; /* base and tail count */
  int64_t base, tail;
  uint64_t incomplete;
  uint64_t version; /* grows whenever base or the completed runs may have changed */
  pk_cell_t *cells; /* those in use: [first, first + count) */
  size_t first, count, capacity;
  size_t dead; /* cells in use with nothing incomplete; never the first one */
  pk_range_t *restored;
  size_t restored_count, restored_capacity; /* ascending, not touching, above the tail or across it */
} pk_ledger_t;

/* A zeroed one is valid and not known. */
void pk_ledger_free(pk_ledger_t *ledger);
size_t pk_ledger_footprint(const pk_ledger_t *ledger);

/* Makes `copy`, which must be empty, the same as `ledger`. */
pk_ledger_status_t pk_ledger_copy(pk_ledger_t *copy, const pk_ledger_t *ledger);

/* Starts over at base; base < 0: unknown. Restored runs go too. */
void pk_ledger_reset(pk_ledger_t *ledger, int64_t base);

/* Runs above the tail that are complete. Those that begin at or below it are left
 * out: a map can't know that about the offset that was committed. */
pk_ledger_status_t pk_ledger_restore(pk_ledger_t *ledger, const pk_range_t *ranges, size_t count);

/* Takes the span [from, to) in. Without offsets each one of it is a record. */
pk_ledger_status_t pk_ledger_admit(pk_ledger_t *ledger, int64_t from, int64_t to, const int64_t *offsets, size_t count);

/* The restored run that holds the offset or is the first one after it; NULL: none. */
const pk_range_t *pk_ledger_restored_at(const pk_ledger_t *ledger, int64_t offset);

/* *changed: it was incomplete. */
pk_ledger_status_t pk_ledger_complete(pk_ledger_t *ledger, int64_t offset, bool *changed);

/* Everything below the offset, and nothing beyond the tail. Answers whether base moved. */
bool pk_ledger_complete_through(pk_ledger_t *ledger, int64_t offset);

bool pk_ledger_is_complete(const pk_ledger_t *ledger, int64_t offset);

/* What may be committed: base, or, when nothing is incomplete and a restored run
 * begins at the tail, the end of that run. Needs a known ledger. */
int64_t pk_ledger_committable(const pk_ledger_t *ledger);

/* The first incomplete offset at or after `offset`; false: none. */
bool pk_ledger_next_incomplete(const pk_ledger_t *ledger, int64_t offset, int64_t *found);

/* Complete runs above what may be committed, ascending and not touching. A stretch
 * without a record in it (a gap of the log) is no run, for nobody will ever ask
 * about it. `each` ends the walk with false. */
typedef bool (*pk_ledger_each_fn)(void *context, int64_t from, int64_t to);
void pk_ledger_ranges(const pk_ledger_t *ledger, pk_ledger_each_fn each, void *context);

/* The most bytes that the completed runs can take in an envelope, in whatever order
 * the rest completes and as long as nothing is admitted. Never more than `ceiling`. */
size_t pk_ledger_map_bound(const pk_ledger_t *ledger, size_t ceiling);

#endif
