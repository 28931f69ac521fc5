#include "query.h"

#include <stdlib.h>

void pk_query_init(pk_query_t *query, pk_consumer_t *consumer, int timeout_ms) {
  atomic_init(&query->refs, 1);
  pthread_mutex_init(&query->lock, NULL);
  pk_cond_init(&query->changed);
  query->consumer = consumer;
  query->timeout_ms = timeout_ms;
}

void pk_query_unref(pk_query_t *query) {
  if (atomic_fetch_sub(&query->refs, 1) != 1) return;
  query->clean(query);
  pthread_cond_destroy(&query->changed);
  pthread_mutex_destroy(&query->lock);
  free(query);
}

/* The handle is left before the answer is published: a caller that closes at
 * once doesn't wait for this thread. */
static void *pk_query_main(void *ptr) {
  pk_query_t *query = ptr;

  query->run(query);
  pk_consumer_query_leave(query->consumer);
  pthread_mutex_lock(&query->lock);
  query->finished = true;
  pthread_cond_broadcast(&query->changed);
  pthread_mutex_unlock(&query->lock);
  pk_query_unref(query);
  return NULL;
}

int pk_query_start(pk_query_t *query) {
  int result = pk_consumer_query_enter(query->consumer);

  if (result) return result;
  atomic_fetch_add(&query->refs, 1);
  result = pk_thread_detach("pk:query", pk_query_main, query);
  if (!result) return 0;
  pk_consumer_query_leave(query->consumer);
  atomic_fetch_sub(&query->refs, 1);
  return result;
}

bool pk_query_wait(pk_query_t *query) {
  bool finished;

  pthread_mutex_lock(&query->lock);
  while (!query->finished && !query->interrupted) pthread_cond_wait(&query->changed, &query->lock);
  finished = query->finished;
  query->interrupted = false;
  pthread_mutex_unlock(&query->lock);
  return finished;
}

void pk_query_interrupt(pk_query_t *query) {
  pthread_mutex_lock(&query->lock);
  query->interrupted = true;
  pthread_cond_broadcast(&query->changed);
  pthread_mutex_unlock(&query->lock);
}

bool pk_query_done(pk_query_t *query) {
  bool finished;

  pthread_mutex_lock(&query->lock);
  finished = query->finished;
  pthread_mutex_unlock(&query->lock);
  return finished;
}
