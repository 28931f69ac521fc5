/* Configuration of librdkafka without Ruby: its property table, and whether it
 * accepts a configuration as a whole. Any thread may call every function; none
 * keeps state. */
#ifndef PK_CORE_CONF_H
#define PK_CORE_CONF_H

#include <stddef.h>

#include <rdkafka.h>

#define PK_CONF_ERROR_SIZE 512

/* librdkafka's own table of properties (its CONFIGURATION.md), in a string that
 * the caller frees; NULL if memory is short. */
char *pk_conf_table(size_t *size);

/* Finds problems that depend on several properties or the system (files that
 * must exist, limits that must fit each other): creates a handle without
 * brokers, which connects to nothing, and destroys it again. Takes ownership of
 * conf in any case. 0, or an error code with its text in error. May take
 * milliseconds: call it without the GVL. The caller leaves out properties that
 * would connect: bootstrap.servers, metadata.broker.list,
 * test.mock.num.brokers. */
rd_kafka_resp_err_t pk_conf_trial(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error, size_t size);

#endif
