#ifndef PK_GROUP_METADATA_H
#define PK_GROUP_METADATA_H

#include <ruby.h>

#include <rdkafka.h>

/* group_metadata.c: what a group's coordinator requires of a member before it
 * accepts offsets in a transaction. A value: any thread, even after the
 * consumer's end. */

/* Raises for any other object. */
void pk_group_metadata_check(VALUE self);

/* A copy that the caller destroys; also raises. */
rd_kafka_consumer_group_metadata_t *pk_group_metadata_copy(VALUE self);

/* Takes ownership of the metadata. */
VALUE pk_group_metadata_wrap(rd_kafka_consumer_group_metadata_t *metadata);

/* consumer_list.c */
rd_kafka_topic_partition_list_t *pk_list_from_values(VALUE array);

#endif
