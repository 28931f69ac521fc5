/* The life cycle of a handle: no call enters once it closes, and the closing
 * thread waits for the calls inside, which it has woken. */
#include "handle.h"

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static pk_handle_t handle;
static _Atomic int roused;

static void rouse(pk_handle_t *unused) {
  (void)unused;
  atomic_store(&roused, 1);
}

static void *come_and_go(void *unused) {
  (void)unused;
  while (pk_handle_enter(&handle) == 0) pk_handle_leave(&handle);
  return NULL;
}

/* Leaves only when it is woken, as a wait does; and enters again as long as it
 * can. */
static void *stay_until_roused(void *unused) {
  (void)unused;
  while (pk_handle_enter(&handle) == 0) {
    while (!atomic_load(&roused)) usleep(100);
    pk_handle_leave(&handle);
  }
  return NULL;
}

static void test_close_waits_for_calls(void) {
  for (int round = 0; round < 20; round++) {
    pthread_t threads[4];

    atomic_store(&roused, 0);
    pk_handle_init(&handle);
    handle.rouse = rouse;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, i % 2 ? come_and_go : stay_until_roused, NULL);
    usleep(1000);
    CHECK(pk_handle_begin_close(&handle, PK_NO_DEADLINE) == PK_CLOSE_MINE);
    CHECK(handle.calls == 0);
    CHECK(pk_handle_enter(&handle) == PK_E_CLOSED);
    pk_handle_closed(&handle);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK(pk_handle_begin_close(&handle, PK_NO_DEADLINE) == PK_CLOSE_DONE);
    pk_handle_destroy(&handle);
  }
}

static _Atomic int closes;

static void *close_meanwhile(void *result) {
  atomic_store(&closes, 1);
  *(int *)result = pk_handle_begin_close(&handle, PK_NO_DEADLINE);
  return NULL;
}

/* One thread tried and abandoned its close while the other waited for it. */
static void test_a_close_that_is_taken_back_leaves_it_to_who_waited(void) {
  pthread_t closer;
  int result = -1;

  pk_handle_init(&handle);
  CHECK(pk_handle_try_close(&handle) == PK_CLOSE_MINE);
  pthread_create(&closer, NULL, close_meanwhile, &result);
  while (!atomic_load(&closes)) usleep(100);
  usleep(20000); /* whether it waits by now or not, the answer is the same */
  pk_handle_reopen(&handle);
  pthread_join(closer, NULL);
  CHECK(result == PK_CLOSE_MINE);
  CHECK(pk_handle_enter(&handle) == PK_E_CLOSED);
  pk_handle_closed(&handle);
  pk_handle_destroy(&handle);
}

static void test_a_call_that_stays_makes_close_busy(void) {
  int64_t before = pk_now_ms();

  pk_handle_init(&handle);
  CHECK(pk_handle_enter(&handle) == 0);
  CHECK(pk_handle_begin_close(&handle, pk_deadline(50)) == PK_CLOSE_BUSY);
  CHECK(pk_now_ms() - before >= 50);
  CHECK(pk_handle_enter_closing(&handle) == 0);
  pk_handle_leave(&handle);
  pk_handle_leave(&handle);
  pk_handle_drain(&handle);
  pk_handle_closed(&handle);
  pk_handle_destroy(&handle);
}

static void *close_it(void *mine) {
  if (pk_handle_begin_close(&handle, PK_NO_DEADLINE) == PK_CLOSE_MINE) {
    atomic_fetch_add((_Atomic int *)mine, 1);
    pk_handle_closed(&handle);
  }
  return NULL;
}

static void test_one_of_many_closes(void) {
  pthread_t threads[8];
  _Atomic int mine = 0;

  pk_handle_init(&handle);
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, close_it, &mine);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  CHECK(mine == 1);
  CHECK(pk_handle_state(&handle) == PK_CLOSED);
  pk_handle_destroy(&handle);
}

static _Atomic int forgotten;

static void forget(pk_handle_t *unused) {
  (void)unused;
  atomic_fetch_add(&forgotten, 1);
}

/* The parent holds the lock at the fork: the child may not touch it. */
static int child_of_a_locked_handle(void) {
  pk_handles_forked();
  if (pk_handle_state(&handle) != PK_DISCARDED || forgotten != 1 || pk_handles_count() != 0) return 1;
  if (pk_handle_enter(&handle) != PK_E_FORKED) return 2;
  if (pk_handle_begin_close(&handle, PK_NO_DEADLINE) != PK_CLOSE_DONE) return 3;
  pk_handle_leave(&handle);
  pk_handle_destroy(&handle);
  return 0;
}

static void test_a_child_only_forgets(void) {
  int status = -1;
  pid_t pid;

  pk_handle_init(&handle);
  handle.forked = forget;
  pk_handle_register(&handle);
  pthread_mutex_lock(&handle.lock);
  pid = fork();
  if (pid == 0) _exit(child_of_a_locked_handle());
  waitpid(pid, &status, 0);
  pthread_mutex_unlock(&handle.lock);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(pk_handles_count() == 1 && forgotten == 0);
  CHECK(pk_handle_enter(&handle) == 0);
  pk_handle_leave(&handle);
  pk_handle_unregister(&handle);
  CHECK(pk_handles_count() == 0);
  pk_handle_destroy(&handle);
}

static void test_the_list_loses_nobody(void) {
  pk_handle_t three[3];

  for (int i = 0; i < 3; i++) pk_handle_init(&three[i]);
  for (int i = 0; i < 3; i++) pk_handle_register(&three[i]);
  pk_handle_unregister(&three[1]);
  pk_handle_unregister(&three[1]);
  CHECK(pk_handles_count() == 2);
  pk_handle_unregister(&three[2]);
  pk_handle_unregister(&three[0]);
  CHECK(pk_handles_count() == 0);
  for (int i = 0; i < 3; i++) pk_handle_destroy(&three[i]);
}

int main(void) {
  test_close_waits_for_calls();
  test_a_close_that_is_taken_back_leaves_it_to_who_waited();
  test_a_call_that_stays_makes_close_busy();
  test_one_of_many_closes();
  test_a_child_only_forgets();
  test_the_list_loses_nobody();
  return report();
}
