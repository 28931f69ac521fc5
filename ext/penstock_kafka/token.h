#ifndef PK_TOKEN_H
#define PK_TOKEN_H

#include "penstock_kafka.h"

/* An OAuth token on its way to a client: of consumers, producers and admins alike. */
typedef struct {
  VALUE token, principal, extensions; /* Strings and an Array of them, nobody else's */
  int64_t expires_ms;
  char error[512];
} pk_token_t;

/* Extensions: a Hash, a flat Array of names and values, or nil. All that may run Ruby
 * happens in here. */
pk_token_t pk_token_read(VALUE token, VALUE expires_ms, VALUE principal, VALUE extensions);

/* Enters the handle, or raises; it->error says why librdkafka refuses the token. */
rd_kafka_resp_err_t pk_token_set(pk_handle_t *handle, const char *what, pk_token_t *it);

#endif
