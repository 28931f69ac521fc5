#ifndef PK_CONSUMER_PARTS_H
#define PK_CONSUMER_PARTS_H

#include "consumer.h"

/* Shared by the files of the consumer. All of it belongs to the loop thread,
 * inside, or to the closing thread. */

/* consumer_lanes.c */
void pk_consumer_bury_lanes(pk_consumer_t *consumer); /* dying lanes whose time is up */
void pk_consumer_touch_lanes(pk_consumer_t *consumer);
void pk_consumer_release_lanes(pk_consumer_t *consumer); /* all of them, permanently */

/* consumer_events.c */
void pk_consumer_drop_current(pk_consumer_t *consumer);
rd_kafka_event_t *pk_pending_shift(pk_consumer_t *consumer);

#endif
