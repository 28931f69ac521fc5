#ifndef PK_PRODUCER_FLUSH_H
#define PK_PRODUCER_FLUSH_H

#include <pthread.h>
#include <rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "delivery.h"

/* Keeps a lone synchronous message from paying linger.ms.
 *
 * During a rd_kafka_flush librdkafka treats linger as 0 and wakes its broker
 * threads; with reports as events it does nothing else but wait. So while there
 * are urgent waits, one helper thread keeps such a flush running, in slices (a
 * flush can't be interrupted). It is started with the first wait that
 * pk_producer_flush_lone can't serve and ends after a second without one.
 * Meanwhile linger is 0 for everything this producer sends; during a flood only
 * for moments. */

typedef enum { PK_FLUSH_NONE, PK_FLUSH_RUNNING, PK_FLUSH_ENDED } pk_flush_state_t;

typedef struct pk_flush {
  rd_kafka_t *rk;
  pk_urgency_t urgency;
  pthread_mutex_t lock;
  pthread_cond_t wanted;
  pthread_t thread;
  pk_flush_state_t state; /* ENDED: the thread can be joined */
  unsigned asked;         /* how many waits have begun */
  bool stopping;
} pk_flush_t;

void pk_flush_init(pk_flush_t *flush, rd_kafka_t *rk);

/* Ends and joins the helper, after one slice at the latest. Call it before
 * destroy. */
void pk_flush_stop(pk_flush_t *flush);
void pk_flush_destroy(pk_flush_t *flush);

#endif
