/* Penstock::Native::Child: see core/child.h and native/child.rb. */
#include "penstock_core.h"

#include <errno.h>
#include <stdlib.h>

#include "core/child.h"

static void child_free(void *ptr) {
  pk_child_close(ptr);
  xfree(ptr);
}

static size_t child_size(const void *ptr) {
  return sizeof(pk_child_t);
}

static const rb_data_type_t child_type = {
    .wrap_struct_name = "Penstock::Native::Child",
    .function = {.dfree = child_free, .dsize = child_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE child_alloc(VALUE klass) {
  pk_child_t *child;
  VALUE self = TypedData_Make_Struct(klass, pk_child_t, &child_type, child);

  pk_child_open(child, 0);
  child->ended = true;
  return self;
}

static pk_child_t *child_of(VALUE self) {
  return rb_check_typeddata(self, &child_type);
}

static VALUE child_initialize(VALUE self, VALUE pid) {
  pk_child_t *child = child_of(self);
  int number = NUM2INT(pid);

  if (number <= 0) rb_raise(rb_eArgError, "%d isn't a process id of a child", number);
  pk_child_close(child);
  pk_child_open(child, number);
  return self;
}

static VALUE child_pid(VALUE self) {
  return INT2NUM(child_of(self)->pid);
}

static VALUE child_descriptor(VALUE self) {
  int fd = child_of(self)->fd;

  return fd < 0 ? Qnil : INT2NUM(fd);
}

/* → nil while it lives, else [exit code or nil, signal or nil] */
static VALUE child_reap(VALUE self) {
  pk_child_t *child = child_of(self);

  if (!pk_child_reap(child)) return Qnil;
  return rb_assoc_new(child->code < 0 ? Qnil : INT2NUM(child->code), child->signal ? INT2NUM(child->signal) : Qnil);
}

static VALUE child_send(VALUE self, VALUE number) {
  int err = pk_child_signal(child_of(self), NUM2INT(number));

  if (err == 0) return Qtrue;
  if (err == ESRCH) return Qfalse;
  rb_syserr_fail(err, "signal to a child process");
}

static VALUE child_close(VALUE self) {
  pk_child_close(child_of(self));
  return Qnil;
}

void Init_pk_child(VALUE mNative) {
  VALUE cChild = rb_define_class_under(mNative, "Child", rb_cObject);

  rb_define_alloc_func(cChild, child_alloc);
  rb_define_method(cChild, "initialize", child_initialize, 1);
  rb_define_method(cChild, "pid", child_pid, 0);
  rb_define_method(cChild, "reap", child_reap, 0);
  rb_define_private_method(cChild, "descriptor", child_descriptor, 0);
  rb_define_private_method(cChild, "send_signal", child_send, 1);
  rb_define_private_method(cChild, "close_descriptor", child_close, 0);
}
