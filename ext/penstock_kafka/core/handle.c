#include "handle.h"

#include <unistd.h>

void pk_handle_init(pk_handle_t *handle) {
  handle->rk = NULL;
  handle->pid = getpid();
  atomic_init(&handle->state, PK_OPEN);
  handle->calls = 0;
  pthread_mutex_init(&handle->lock, NULL);
  pk_cond_init(&handle->idle);
  handle->forked = NULL;
  handle->rouse = NULL;
  handle->next_in_process = handle->prev_in_process = NULL;
  handle->registered = false;
}

void pk_handle_destroy(pk_handle_t *handle) {
  if (pk_inherited(handle)) return;
  pthread_cond_destroy(&handle->idle);
  pthread_mutex_destroy(&handle->lock);
}

bool pk_inherited(const pk_handle_t *handle) {
  return handle->pid != getpid();
}

pk_state_t pk_handle_state(const pk_handle_t *handle) {
  return (pk_state_t)atomic_load(&handle->state);
}

static int pk_handle_enter_until(pk_handle_t *handle, pk_state_t last) {
  int result = 0;

  if (pk_inherited(handle)) return PK_E_FORKED;
  pthread_mutex_lock(&handle->lock);
  if (pk_handle_state(handle) <= last) {
    handle->calls++;
  } else {
    result = PK_E_CLOSED;
  }
  pthread_mutex_unlock(&handle->lock);
  return result;
}

int pk_handle_enter(pk_handle_t *handle) {
  return pk_handle_enter_until(handle, PK_OPEN);
}

int pk_handle_enter_closing(pk_handle_t *handle) {
  return pk_handle_enter_until(handle, PK_CLOSING);
}

void pk_handle_leave(pk_handle_t *handle) {
  if (pk_inherited(handle)) return; /* forked inside a call: the count belongs to the parent */
  pthread_mutex_lock(&handle->lock);
  if (--handle->calls == 0) pthread_cond_broadcast(&handle->idle);
  pthread_mutex_unlock(&handle->lock);
}

/* Must be called with the lock held, by the thread that made it PK_CLOSING. */
static int pk_wait_for_calls_locked(pk_handle_t *handle, int64_t deadline_ms) {
  while (handle->calls > 0) {
    if (!pk_cond_wait_until(&handle->idle, &handle->lock, deadline_ms) && handle->calls > 0) return PK_CLOSE_BUSY;
  }
  return PK_CLOSE_MINE;
}

/* Must be called with the lock held, while another thread closes. */
static void pk_wait_for_closer_locked(pk_handle_t *handle, int64_t deadline_ms) {
  while (pk_handle_state(handle) == PK_CLOSING) {
    if (!pk_cond_wait_until(&handle->idle, &handle->lock, deadline_ms)) break;
  }
}

/* The other thread may have abandoned its close: then this thread closes. */
int pk_handle_begin_close(pk_handle_t *handle, int64_t deadline_ms) {
  int result = PK_CLOSE_DONE;

  if (pk_inherited(handle)) return result;
  pthread_mutex_lock(&handle->lock);
  pk_wait_for_closer_locked(handle, deadline_ms);
  if (pk_handle_state(handle) == PK_OPEN) {
    atomic_store(&handle->state, PK_CLOSING);
    if (handle->rouse) handle->rouse(handle);
    result = pk_wait_for_calls_locked(handle, deadline_ms);
  }
  pthread_mutex_unlock(&handle->lock);
  return result;
}

int pk_handle_try_close(pk_handle_t *handle) {
  int result = PK_CLOSE_DONE;

  if (pk_inherited(handle)) return result;
  pthread_mutex_lock(&handle->lock);
  if (pk_handle_state(handle) == PK_OPEN) {
    result = handle->calls > 0 ? PK_CLOSE_BUSY : PK_CLOSE_MINE;
    if (result == PK_CLOSE_MINE) atomic_store(&handle->state, PK_CLOSING);
  }
  pthread_mutex_unlock(&handle->lock);
  return result;
}

void pk_handle_reopen(pk_handle_t *handle) {
  pthread_mutex_lock(&handle->lock);
  atomic_store(&handle->state, PK_OPEN);
  pthread_cond_broadcast(&handle->idle);
  pthread_mutex_unlock(&handle->lock);
}

void pk_handle_drain(pk_handle_t *handle) {
  pk_handle_drain_until(handle, PK_NO_DEADLINE);
}

bool pk_handle_drain_until(pk_handle_t *handle, int64_t deadline_ms) {
  int result;

  pthread_mutex_lock(&handle->lock);
  result = pk_wait_for_calls_locked(handle, deadline_ms);
  pthread_mutex_unlock(&handle->lock);
  return result == PK_CLOSE_MINE;
}

void pk_handle_closed(pk_handle_t *handle) {
  pthread_mutex_lock(&handle->lock);
  atomic_store(&handle->state, PK_CLOSED);
  pthread_cond_broadcast(&handle->idle);
  pthread_mutex_unlock(&handle->lock);
}

void pk_handle_discard(pk_handle_t *handle) {
  atomic_store(&handle->state, PK_DISCARDED);
}

static pk_handle_t *pk_handles; /* guarded by the GVL */

void pk_handle_register(pk_handle_t *handle) {
  handle->next_in_process = pk_handles;
  handle->prev_in_process = NULL;
  if (pk_handles) pk_handles->prev_in_process = handle;
  pk_handles = handle;
  handle->registered = true;
}

void pk_handle_unregister(pk_handle_t *handle) {
  if (!handle->registered) return;
  if (handle->prev_in_process) handle->prev_in_process->next_in_process = handle->next_in_process;
  if (handle->next_in_process) handle->next_in_process->prev_in_process = handle->prev_in_process;
  if (pk_handles == handle) pk_handles = handle->next_in_process;
  handle->next_in_process = handle->prev_in_process = NULL;
  handle->registered = false;
}

void pk_handles_forked(void) {
  while (pk_handles) {
    pk_handle_t *handle = pk_handles;

    pk_handle_unregister(handle);
    pk_handle_discard(handle);
    if (handle->forked) handle->forked(handle);
  }
}

int pk_handles_count(void) {
  int count = 0;

  for (pk_handle_t *handle = pk_handles; handle; handle = handle->next_in_process) count++;
  return count;
}
