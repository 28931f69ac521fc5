#ifndef PK_PRODUCER_TOPICS_H
#define PK_PRODUCER_TOPICS_H

#include "producer.h"

/* Frees a producer's topics: first librdkafka's, then the memory. */
void pk_topics_close(pk_producer_t *producer);
void pk_topics_free(pk_producer_t *producer);

#endif
