/* From the event thread to the reporter: no wanted report is lost, no unwanted
 * one kept. */
#include "../../core/check.h"
#include "producer_reports.h"
#include "thread.h"

static pk_reports_t reports;

static void push(int64_t offset) {
  pk_report_t report = {.offset = offset};

  pk_reports_push(&reports, &report);
}

static void fresh(size_t limit, int wants) {
  pk_reports_init(&reports, limit);
  atomic_store(&reports.wants, wants);
}

static void they_come_out_in_order_however_many(void) {
  pk_report_t taken[100];
  int64_t next = 0, pushed = 0;

  fresh(1000000, PK_WANT_DELIVERED);
  for (int round = 0; round < 400; round++) {
    unsigned more = random_below(300);
    size_t count;

    while (more--) push(pushed++);
    count = pk_reports_take(&reports, taken, random_below(100));
    for (size_t i = 0; i < count; i++) CHECK(taken[i].offset == next++);
  }
  for (size_t count; (count = pk_reports_take(&reports, taken, 100));) {
    for (size_t i = 0; i < count; i++) CHECK(taken[i].offset == next++);
  }
  CHECK(next == pushed);
  pk_reports_destroy(&reports);
}

static void fullness_is_told_and_ends(void) {
  pk_report_t taken[4];

  fresh(3, PK_WANT_DELIVERED);
  push(1), push(2);
  CHECK(!pk_reports_full(&reports));
  push(3), push(4);
  CHECK(pk_reports_full(&reports));
  CHECK(pk_reports_take(&reports, taken, 2) == 2 && !pk_reports_full(&reports));
  pk_reports_destroy(&reports);
}

static void check_notice(int want, const char *text) {
  pk_notice_t *notice = pk_reports_take_notice(&reports);

  CHECK(notice && notice->want == want && strcmp(notice->text, text) == 0);
  if (notice) pk_notice_free(notice);
}

static void only_what_is_wanted_is_kept(void) {
  fresh(10, PK_WANT_STATISTICS);
  pk_reports_notice(&reports, PK_WANT_ERRORS, -195, false, NULL, "down");
  CHECK(!pk_reports_take_notice(&reports));
  CHECK(strcmp(reports.last_error, "down") == 0);
  pk_reports_destroy(&reports);
}

static void of_statistics_the_newest_is_kept(void) {
  fresh(10, PK_WANT_STATISTICS | PK_WANT_ERRORS);
  pk_reports_notice(&reports, PK_WANT_STATISTICS, 0, false, NULL, "old");
  pk_reports_notice(&reports, PK_WANT_ERRORS, 1, false, NULL, "error");
  pk_reports_notice(&reports, PK_WANT_STATISTICS, 0, false, NULL, "new");
  check_notice(PK_WANT_ERRORS, "error");
  check_notice(PK_WANT_STATISTICS, "new");
  CHECK(!pk_reports_take_notice(&reports));
  pk_reports_destroy(&reports);
}

static void of_requests_for_tokens_the_newest_is_kept(void) {
  fresh(10, PK_WANT_TOKENS);
  pk_reports_notice(&reports, PK_WANT_TOKENS, 0, false, NULL, "old");
  pk_reports_notice(&reports, PK_WANT_TOKENS, 0, false, NULL, "new");
  check_notice(PK_WANT_TOKENS, "new");
  CHECK(!pk_reports_take_notice(&reports) && pk_reports_take_forgotten(&reports) == 0);
  pk_reports_destroy(&reports);
}

static void of_log_lines_and_errors_the_newest_thousand_are_kept_and_errors_counted(void) {
  int logs = 0, errors = 0;
  pk_notice_t *notice;

  fresh(10, PK_WANT_LOGS | PK_WANT_ERRORS);
  for (int i = 0; i < 3000; i++) pk_reports_notice(&reports, PK_WANT_LOGS, i, false, "FAC", "line");
  for (int i = 0; i < 3000; i++) pk_reports_notice(&reports, PK_WANT_ERRORS, i, true, NULL, "error");
  while ((notice = pk_reports_take_notice(&reports))) {
    if (notice->want == PK_WANT_LOGS) CHECK(notice->number == 2000 + logs++);
    else CHECK(notice->number == 2000 + errors++ && notice->fatal);
    pk_notice_free(notice);
  }
  CHECK(logs == 1000 && errors == 1000 && pk_reports_take_forgotten(&reports) == 2000);
  pk_reports_notice(&reports, PK_WANT_ERRORS, 1, false, NULL, "error");
  check_notice(PK_WANT_ERRORS, "error");
  CHECK(pk_reports_take_forgotten(&reports) == 0);
  pk_reports_destroy(&reports);
}

static void what_is_left_when_it_is_closed_can_be_taken(void) {
  pk_report_t taken[4];
  bool interrupted = false;

  fresh(10, PK_WANT_DELIVERED);
  push(1);
  pk_reports_close(&reports);
  CHECK(!pk_reports_ended(&reports));
  CHECK(pk_reports_take(&reports, taken, 4) == 1 && pk_reports_ended(&reports));
  pk_reports_wait(&reports, PK_NO_DEADLINE, &interrupted);
  pk_reports_destroy(&reports);
}

#define MESSAGES 20000

static void *push_all(void *arg) {
  for (int i = 0; i < MESSAGES; i++) {
    push(i);
    if (i % 100 == 0) pk_reports_notice(&reports, PK_WANT_ERRORS, i, false, NULL, "error");
  }
  pk_reports_close(&reports);
  return arg;
}

static void one_takes_while_another_pushes(void) {
  pk_report_t taken[64];
  pk_notice_t *notice;
  bool interrupted = false;
  int64_t next = 0;
  int errors = 0;
  pthread_t thread;

  fresh(1000000, PK_WANT_DELIVERED | PK_WANT_ERRORS);
  CHECK(pk_thread_start(&thread, "pusher", push_all, NULL) == 0);
  while (!pk_reports_ended(&reports)) {
    pk_reports_wait(&reports, pk_deadline(20000), &interrupted);
    for (size_t count; (count = pk_reports_take(&reports, taken, 64));) {
      for (size_t i = 0; i < count; i++) CHECK(taken[i].offset == next++);
    }
    for (; (notice = pk_reports_take_notice(&reports)); errors++) pk_notice_free(notice);
  }
  pthread_join(thread, NULL);
  CHECK(next == MESSAGES && errors == MESSAGES / 100);
  pk_reports_destroy(&reports);
}

int main(void) {
  they_come_out_in_order_however_many();
  fullness_is_told_and_ends();
  only_what_is_wanted_is_kept();
  of_statistics_the_newest_is_kept();
  of_requests_for_tokens_the_newest_is_kept();
  of_log_lines_and_errors_the_newest_thousand_are_kept_and_errors_counted();
  what_is_left_when_it_is_closed_can_be_taken();
  one_takes_while_another_pushes();
  return report();
}
