#ifndef PK_TOKEN_H
#define PK_TOKEN_H

#include "penstock_kafka.h"

/* An OAuth token for a client: for consumers, producers and admins alike. */
typedef struct {
  VALUE token, principal, extensions; /* Strings and an Array of them that only we use */
  int64_t expires_ms;
  char error[512];
} pk_token_t;

/* Extensions: a Hash, a flat Array of names and values, or nil. Everything that
 * may run Ruby code happens in here. */
pk_token_t pk_token_read(VALUE token, VALUE expires_ms, VALUE principal, VALUE extensions);

/* it->error is librdkafka's reason for refusing the token. For a client that
 * can't be destroyed meanwhile. */
rd_kafka_resp_err_t pk_token_give(rd_kafka_t *rk, pk_token_t *it);

/* The same; enters the handle, or raises. */
rd_kafka_resp_err_t pk_token_set(pk_handle_t *handle, const char *what, pk_token_t *it);

#endif
