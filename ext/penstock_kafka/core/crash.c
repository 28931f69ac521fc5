#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "crash.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifdef __GLIBC__
#include <execinfo.h>
#endif

#include "clock.h"

#if defined(__SANITIZE_ADDRESS__)
#define PK_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PK_ASAN 1
#endif
#endif

#define PK_NOTES 16
#define PK_NOTE_BYTES 150
#define PK_FRAMES 48

typedef struct {
  _Atomic int64_t at_ms;
  char text[PK_NOTE_BYTES];
} pk_note_t;

static char identity[200] = "penstock";
static int (*ruby_thread)(void);
static pk_note_t notes[PK_NOTES];
static atomic_uint noted;
static pthread_once_t installed = PTHREAD_ONCE_INIT;

static const struct {
  int number;
  const char *name;
} fatal[] = {{SIGABRT, "SIGABRT"}, {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}};
#define PK_FATAL (sizeof fatal / sizeof *fatal)
static struct sigaction before[PK_FATAL];

void pk_crash_identity(const char *text) {
  snprintf(identity, sizeof identity, "%s", text);
}

void pk_crash_ruby_threads(int (*is_ruby)(void)) {
  ruby_thread = is_ruby;
}

void pk_crash_note(const char *format, ...) {
  pk_note_t *note = &notes[atomic_fetch_add(&noted, 1) % PK_NOTES];
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(note->text, sizeof note->text, format, arguments);
  va_end(arguments);
  atomic_store(&note->at_ms, pk_now_ms());
}

/* ---- in the handler: async-signal-safe calls only ---- */

static void put(const char *text) {
  size_t left = strlen(text);

  while (left > 0) {
    ssize_t written = write(STDERR_FILENO, text, left);

    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text += written;
    left -= (size_t)written;
  }
}

/* Replaces control characters: events contain text from brokers and users. */
static void put_clean(const char *text) {
  char copy[PK_NOTE_BYTES];
  size_t i = 0;

  for (; text[i] && i < sizeof copy - 1; i++) copy[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? ' ' : text[i];
  copy[i] = '\0';
  put(copy);
}

static void put_number(int64_t number) {
  char digits[24];
  size_t at = sizeof digits;
  uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

  digits[--at] = '\0';
  do digits[--at] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (number < 0) digits[--at] = '-';
  put(digits + at);
}

static void put_thread(void) {
#ifdef __linux__
  char name[17] = "";

  prctl(PR_GET_NAME, name);
  put(" in the thread ");
  put_clean(name);
#endif
}

static void put_notes(void) {
  unsigned count = atomic_load(&noted);
  int64_t now_ms = pk_now_ms();

  put(count ? ". Last events:" : ". No events of Kafka yet.");
  for (unsigned i = 0; i < count && i < PK_NOTES; i++) {
    pk_note_t *note = &notes[(count - 1 - i) % PK_NOTES];

    put(i ? "; " : " ");
    put_number(now_ms - atomic_load(&note->at_ms));
    put(" ms ago ");
    put_clean(note->text);
  }
}

static void put_backtrace(void) {
#ifdef __GLIBC__
  void *frames[PK_FRAMES];
  int count = backtrace(frames, PK_FRAMES);

  put("C backtrace of the thread (addr2line -e FILE +ADDRESS):\n");
  backtrace_symbols_fd(frames, count, STDERR_FILENO);
#endif
}

static void put_line(const char *name) {
  put(identity);
  put(", librdkafka ");
  put(rd_kafka_version_str());
  put(": process ");
  put_number((int64_t)getpid());
  put(" ends by ");
  put(name);
  put_thread();
  put_notes();
  put("\n");
}

static void hand_on(size_t which, int number, siginfo_t *info, void *context) {
  struct sigaction *former = &before[which];

  if (former->sa_flags & SA_SIGINFO) {
    former->sa_sigaction(number, info, context);
  } else if (former->sa_handler != SIG_DFL && former->sa_handler != SIG_IGN) {
    former->sa_handler(number);
  } else {
    signal(number, SIG_DFL);
    raise(number);
  }
}

/* An abort may come from Ruby's own report of a fault: then the line is added
 * to that report. */
static void on_fatal(int number, siginfo_t *info, void *context) {
  static atomic_flag begun = ATOMIC_FLAG_INIT;
  bool rubys = ruby_thread && ruby_thread();
  size_t which = 0;

  while (which < PK_FATAL - 1 && fatal[which].number != number) which++;
  if ((number == SIGABRT || !rubys) && !atomic_flag_test_and_set(&begun)) {
    put_line(fatal[which].name);
    if (!rubys) put_backtrace();
  }
  if (rubys || number == SIGABRT) {
    hand_on(which, number, info, context);
  } else { /* Ruby's handler needs a Ruby thread: here the fault itself ends the process */
    signal(number, SIG_DFL);
    raise(number);
  }
}

/* ---- setting up ---- */

static void install(void) {
  struct sigaction action = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  const char *off = getenv("PENSTOCK_NO_CRASH_LINE");

  if (off && *off && strcmp(off, "0")) return;
#ifdef __GLIBC__
  void *frame;

  backtrace(&frame, 1); /* loads its library now, not in the handler */
#endif
  for (size_t i = 0; i < PK_FATAL; i++) {
#ifdef PK_ASAN
    if (fatal[i].number != SIGABRT) continue;
#endif
    sigaction(fatal[i].number, &action, &before[i]);
  }
}

static rd_kafka_resp_err_t on_thread_start(rd_kafka_t *rk, rd_kafka_thread_type_t type, const char *name,
                                           void *opaque) {
  sigset_t set;

  sigemptyset(&set);
  for (size_t i = 0; i < PK_FATAL; i++) sigaddset(&set, fatal[i].number);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque, char *error,
                                  size_t size) {
  return rd_kafka_interceptor_add_on_thread_start(rk, "penstock", on_thread_start, NULL);
}

rd_kafka_t *pk_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error, size_t size) {
  rd_kafka_t *rk;

  pthread_once(&installed, install);
  rd_kafka_conf_interceptor_add_on_new(conf, "penstock", on_new, NULL);
  rk = rd_kafka_new(type, conf, error, size);
  if (rk) pk_crash_note("%s opened", rd_kafka_name(rk));
  return rk;
}
