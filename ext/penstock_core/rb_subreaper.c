/* Penstock::Native::Subreaper: see core/subreaper.h and native/subreaper.rb. */
#include "penstock_core.h"

#include "core/subreaper.h"

static VALUE subreaper_become(VALUE self) {
  int err = pk_subreaper_become();

  if (err) rb_syserr_fail(err, "can't become the parent of orphaned processes");
  return Qnil;
}

static VALUE subreaper_ended(VALUE self) {
  pid_t pid = pk_subreaper_ended();

  return pid > 0 ? INT2NUM(pid) : Qnil;
}

void Init_pk_subreaper(VALUE mNative) {
  VALUE mSubreaper = rb_define_module_under(mNative, "Subreaper");

  rb_define_singleton_method(mSubreaper, "become", subreaper_become, 0);
  rb_define_singleton_method(mSubreaper, "ended", subreaper_ended, 0);
}
