#ifndef PK_CRASH_H
#define PK_CRASH_H

#include <rdkafka.h>
#include <stdbool.h>

/* Reports a fatal signal: one line on stderr with the signal, the thread, the
 * versions and the last events, then a backtrace.
 *
 * Ruby writes a report for faults in its own threads. Faults in librdkafka's
 * threads end the process silently: these threads block every signal, and a
 * fault whose signal is blocked isn't passed to a handler. So each of its
 * threads unblocks the signals of faults when it starts, and our handler writes
 * the line before the signal takes effect. Faults in Ruby's threads go to
 * Ruby's handler, which needs them (a stack overflow becomes a
 * SystemStackError).
 *
 * Installed with the first client, once per process. PENSTOCK_NO_CRASH_LINE
 * disables it. A build with the address sanitizer leaves faults to it. */

/* The beginning of the line: our version and Ruby's. Copied, cut to 200 bytes. */
void pk_crash_identity(const char *text);

/* Whether the calling thread is a Ruby thread: async-signal-safe. */
void pk_crash_ruby_threads(int (*is_ruby)(void));

/* Stores an event for the line, the last 16 of them, cut to 150 bytes. Any
 * thread; takes no lock, so two calls at the same time may mix their texts. */
void pk_crash_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* rd_kafka_new for a client whose threads report faults. */
rd_kafka_t *pk_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error, size_t size);

#endif
