#ifndef PK_CONSUMER_STATS_H
#define PK_CONSUMER_STATS_H

#include <stddef.h>

#include "consumer.h"

/* Trims the client's statistics to its own numbers, its brokers, its group and
 * the partitions it has lanes for: see pk_stats_trim. Writes at most size bytes
 * into out and returns their number, or -1 if they can't be parsed. For the
 * loop thread, inside; its cost grows with the text, so better without the GVL. */
long pk_consumer_trim_stats(const pk_consumer_t *consumer, const char *json, size_t size, char *out);

#endif
