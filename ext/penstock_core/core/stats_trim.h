/* Cuts librdkafka's statistics down to the parts that are used, without Ruby
 * and without building a tree: one pass over the JSON text that copies or
 * skips.
 *
 * Kept: the client's own numbers; of each broker state, traffic, errors and the
 * latency windows; of each topic with a wanted partition its age and those
 * partitions' offsets, lags and traffic; the group; the transaction state. Left
 * out: the list of all partitions under each broker, per-request counters,
 * topics without a wanted partition, figures of messages that are sent to
 * topics, unused keys, partition -1.
 *
 * The cost is that of reading the text once. JSON that isn't in librdkafka's
 * form is refused, never guessed at: no byte outside the input is read, nesting
 * is limited, and at most the input's size is written. */
#ifndef PK_CORE_STATS_TRIM_H
#define PK_CORE_STATS_TRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this partition's numbers are wanted. topic isn't NUL-terminated. */
typedef bool (*pk_stats_wanted_fn)(void *context, const char *topic, size_t topic_size, int32_t partition);

/* Writes the trimmed text (no NUL) into out, which has space for as much as the
 * input. Returns its size, or -1 if the input isn't valid. wanted NULL: no
 * partitions, no topics. */
long pk_stats_trim(const char *json, size_t size, pk_stats_wanted_fn wanted, void *context, char *out);

#endif
