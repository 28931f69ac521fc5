#ifndef PK_CRASH_H
#define PK_CRASH_H

#include <rdkafka.h>
#include <stdbool.h>

/* The last words of a process that a fatal signal ends: one line on stderr with
 * the signal, the thread, the versions and what happened last, then a backtrace.
 *
 * Ruby writes a report for faults in its own threads; those of librdkafka end the
 * process without a word: they block every signal, and a fault whose signal is
 * blocked isn't even given to a handler. So each of its threads lets the signals
 * of faults through when it starts, and a handler of ours writes the line before
 * the signal takes its course. Faults in Ruby's threads go to Ruby's handler,
 * which needs them (a stack overflow becomes a SystemStackError).
 *
 * Installed with the first client; once a process. PENSTOCK_NO_CRASH_LINE
 * switches it off. A build with the address sanitizer leaves faults to it. */

/* What the line begins with: our version and Ruby's. Kept, cut to 200 bytes. */
void pk_crash_identity(const char *text);

/* Whether the thread that calls it is one of Ruby's: async-signal-safe. */
void pk_crash_ruby_threads(int (*is_ruby)(void));

/* Remembers an event for the line, the last 16 of them, cut to 150 bytes. Any
 * thread; takes no lock, so two at a time may mix their texts. */
void pk_crash_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* rd_kafka_new for a client whose threads leave a line when they crash. */
rd_kafka_t *pk_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error, size_t size);

#endif
