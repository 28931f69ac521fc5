#ifndef PK_ERROR_H
#define PK_ERROR_H

#include "penstock_kafka.h"

/* The exceptions that pk_raise and pk_raise_error raise, for callers that hold
 * something native and must free it first. Neither ever raises. The second
 * takes over (destroys) the error object. */
VALUE pk_exception(rd_kafka_resp_err_t err, const char *message);
VALUE pk_exception_from_error(rd_kafka_error_t *error);

#endif
