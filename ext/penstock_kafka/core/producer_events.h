#ifndef PK_PRODUCER_EVENTS_H
#define PK_PRODUCER_EVENTS_H

#include "producer.h"

/* The body of a producer's event thread; `arg` is the pk_producer_t. It waits
 * for the next event, resolves deliveries and keeps reports that have a
 * listener. It ends when `stopping` is set and the queue was yielded, after a
 * last check of the queue. */
void *pk_producer_events_main(void *arg);

#endif
