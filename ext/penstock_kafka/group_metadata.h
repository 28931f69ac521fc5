#ifndef PK_GROUP_METADATA_H
#define PK_GROUP_METADATA_H

#include <ruby.h>

#include <rdkafka.h>

/* group_metadata.c: what a group's coordinator wants to know of a member before it
 * takes offsets from a transaction. A value: any thread, also after the consumer. */

/* Raises for any other object. */
void pk_group_metadata_check(VALUE self);

/* An own copy, the caller's to destroy; raises as well. */
rd_kafka_consumer_group_metadata_t *pk_group_metadata_copy(VALUE self);

/* Takes the metadata over. */
VALUE pk_group_metadata_wrap(rd_kafka_consumer_group_metadata_t *metadata);

/* consumer_list.c */
rd_kafka_topic_partition_list_t *pk_list_from_values(VALUE array);

#endif
