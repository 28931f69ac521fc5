#ifndef PENSTOCK_KAFKA_H
#define PENSTOCK_KAFKA_H

#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/thread.h>

#include <rdkafka.h>

#include "core/handle.h"

/* Shared by the binding files. The core (core/) doesn't use Ruby; a binding
 * file has one Ruby class, keeps its functions static and exports only its
 * Init. */

extern VALUE pk_mPenstock; /* Penstock */
extern VALUE pk_mNative;   /* Penstock::Native */

/* One per file, called once by Init_penstock_kafka. */
void Init_pk_error(VALUE mNative);
void Init_pk_conf(VALUE mNative);
void Init_pk_consumer(VALUE mNative);
void Init_pk_lane(VALUE mNative);
void Init_pk_batch(VALUE mNative);
void Init_pk_producer(VALUE mNative);
void Init_pk_delivery(VALUE mNative);
void Init_pk_completions(VALUE mNative);
void Init_pk_group_metadata(VALUE mNative);
void Init_pk_admin(VALUE mNative);
void Init_pk_mock(VALUE mNative);

/* error.c: Ruby chooses the error class by the code. The second takes over
 * (destroys) the error object. */
NORETURN(void pk_raise(rd_kafka_resp_err_t err, const char *message));
NORETURN(void pk_raise_error(rd_kafka_error_t *error));

/* conf.c: a configuration from a Hash of String => String. NULL with *error_out
 * set to an exception to raise if a property is refused. The caller owns the
 * result. */
rd_kafka_conf_t *pk_conf_from_hash(VALUE hash, VALUE *error_out);

/* Counts a call into the handle or raises ForkedHandleError, HandleClosedError.
 * Every caller that entered must leave in every path: nothing may raise in
 * between. */
void pk_enter(pk_handle_t *handle, const char *what);
void pk_enter_closing(pk_handle_t *handle, const char *what);
NORETURN(void pk_raise_closed(const char *what));
/* Raises for PK_E_FORKED or PK_E_CLOSED, returned by pk_handle_enter. */
NORETURN(void pk_raise_entry(const pk_handle_t *handle, const char *what, int result));

/* Symbol of a handle's state: :open, :closing, :closed, :discarded. */
VALUE pk_state_symbol(const pk_handle_t *handle);

/* Reading an argument may call Ruby code, which may do anything: change a
 * String or an Array that was read before, close the handle, let other threads
 * run. So an argument is read in one of two ways:
 *
 *   pk_own_text   converts it, and returns a frozen String that only we use, without
 *                 NUL bytes: a pointer into it is valid as long as it is kept alive
 *   pk_integer    no conversion: anything but a number raises TypeError. Reading it
 *                 again runs no Ruby and returns the same */
VALUE pk_own_text(VALUE value);
VALUE pk_integer(VALUE value);

/* Strings as the Ruby side expects them; nil for NULL. */
VALUE pk_utf8(const char *string);
VALUE pk_utf8_frozen(const char *string);
VALUE pk_binary(const void *bytes, size_t size);        /* frozen, ASCII-8BIT */

#endif
