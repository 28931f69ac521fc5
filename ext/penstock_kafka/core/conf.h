/* Configuration of librdkafka without Ruby: what its property table says, and
 * whether it accepts a configuration as a whole. Every function is called from
 * any thread; none keeps state. */
#ifndef PK_CORE_CONF_H
#define PK_CORE_CONF_H

#include <stddef.h>

#include <rdkafka.h>

#define PK_CONF_ERROR_SIZE 512

/* librdkafka's own table of properties (its CONFIGURATION.md), in a string to
 * be freed by the caller; NULL when memory is short. */
char *pk_conf_table(size_t *size);

/* Checks what only shows when all properties are looked at together (files that
 * must exist, limits that must fit each other): makes a handle that knows no
 * broker, thus connects to nothing, and takes it down again. Takes conf in every
 * case. 0, or an error code with its text in error. May take milliseconds:
 * call it without the GVL. The caller leaves out what would connect:
 * bootstrap.servers, metadata.broker.list, test.mock.num.brokers. */
rd_kafka_resp_err_t pk_conf_trial(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error, size_t size);

#endif
