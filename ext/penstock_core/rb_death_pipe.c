/* Penstock::Native::DeathPipe: see core/death_pipe.h and native/death_pipe.rb. */
#include "penstock_core.h"

#include <errno.h>

#include "core/death_pipe.h"

static VALUE death_pipe_arm(VALUE self, VALUE fd, VALUE grace_ms) {
  int err = pk_death_pipe_watch(NUM2INT(fd), NUM2INT(grace_ms));

  if (err == EALREADY) rb_raise(rb_eRuntimeError, "this process already watches a death pipe");
  if (err) rb_syserr_fail(err, "watching the death pipe");
  return Qnil;
}

static VALUE death_pipe_disarm(VALUE self) {
  pk_death_pipe_disarm();
  return Qnil;
}

void Init_pk_death_pipe(VALUE mNative) {
  VALUE mDeathPipe = rb_define_module_under(mNative, "DeathPipe");

  rb_define_singleton_method(mDeathPipe, "arm", death_pipe_arm, 2);
  rb_define_singleton_method(mDeathPipe, "disarm", death_pipe_disarm, 0);
}
