#ifndef PK_CLOCK_H
#define PK_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Monotonic milliseconds. All deadlines of the driver are of this kind;
 * PK_NO_DEADLINE never passes. */
#define PK_NO_DEADLINE INT64_MAX

int64_t pk_now_ms(void);

/* The moment timeout_ms from now; a negative timeout is "no deadline". */
int64_t pk_deadline(int64_t timeout_ms);

/* Milliseconds until the deadline: 0 if it has passed, limited to an int so
 * that it can be passed to poll(2) and to librdkafka. */
int pk_remaining_ms(int64_t deadline_ms);

/* Condition variables that use monotonic time, so that changes of the wall
 * clock have no effect. */
void pk_cond_init(pthread_cond_t *cond);

/* Must be called with the mutex held. False if the deadline has passed; true
 * may be spurious, so the caller checks its condition again. */
bool pk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ms);

#endif
