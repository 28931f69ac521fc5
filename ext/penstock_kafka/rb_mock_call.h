#ifndef PK_MOCK_CALL_H
#define PK_MOCK_CALL_H

#include "penstock_kafka.h"

#include <limits.h>

#include "core/mock.h"

#define PK_MOCK_WHAT "mock cluster"
#define PK_MOCK_NAME_BYTES 256 /* a topic has at most 249 */

/* One call for the mock's thread: run is called without the GVL, inside the
 * handle. */
typedef struct pk_mock_call {
  rd_kafka_resp_err_t (*run)(struct pk_mock_call *);
  pk_mock_t *mock;
  char topic[PK_MOCK_NAME_BYTES];
  char key[PK_MOCK_NAME_BYTES];
  int broker, partition, api_key, number;
  int64_t offset;
  size_t count;
  rd_kafka_resp_err_t *errors;
  rd_kafka_resp_err_t result;
} pk_mock_call_t;

/* Makes the call; raises its KafkaError, if any. */
VALUE pk_mock_run(VALUE self, pk_mock_call_t *call);

/* The open cluster of the object, or HandleClosedError. */
pk_mock_t *pk_mock_get(VALUE self);

/* Checked arguments: ArgumentError explains what is wrong. */
int pk_mock_int(VALUE value, int min, int max, const char *what);
void pk_mock_name(char *target, VALUE string, const char *what);

/* Methods that inject errors and count requests (mock_errors.c). */
void pk_mock_define_errors(VALUE cMock);

#endif
