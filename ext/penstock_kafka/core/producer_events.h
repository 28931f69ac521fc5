#ifndef PK_PRODUCER_EVENTS_H
#define PK_PRODUCER_EVENTS_H

#include "producer.h"

/* The body of a producer's event thread; `arg` is the pk_producer_t. It waits for
 * the next event without a time limit, resolves deliveries and hands on what
 * somebody wants to hear. It ends when `stopping` is set and the queue was yielded,
 * after a last look at what lies there. */
void *pk_producer_events_main(void *arg);

#endif
