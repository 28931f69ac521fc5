/* Penstock::Native::Completions: lists which of the deliveries that fibers of one
 * thread wait for are resolved, or have timed out. Used by that thread; its
 * descriptor is for the thread's scheduler. */
#include <errno.h>

#include "core/completions.h"
#include "rb_producing.h"
#include "rb_gvl_yield.h"

#define NUMBERS_AT_ONCE 512

/* All objects of the process, so that a forked child finds their descriptors;
 * guarded by the GVL. */
typedef struct completions_object {
  pk_completions_t *core; /* NULL until it is initialized */
  unsigned generation;
  struct completions_object *prev, *next;
} completions_object_t;

static completions_object_t *objects;

static void enlist(completions_object_t *object) {
  object->prev = NULL; /* it may have been closed before */
  object->next = objects;
  if (objects) objects->prev = object;
  objects = object;
}

static void strike(completions_object_t *object) {
  if (object->prev) object->prev->next = object->next;
  if (object->next) object->next->prev = object->prev;
  if (objects == object) objects = object->next;
}

static bool inherited(const completions_object_t *object) {
  return object->generation != pk_fork_generation();
}

/* In a forked child a lock may be held by a thread that doesn't exist there:
 * leaves the parent's memory as it is, and only closes the descriptor. */
static void let_go(completions_object_t *object) {
  if (!object->core) return;
  strike(object);
  if (!inherited(object)) pk_completions_release(object->core);
  object->core = NULL;
}

static void completions_free(void *pointer) {
  let_go(pointer);
  xfree(pointer);
}

static size_t completions_size(const void *pointer) {
  return sizeof(completions_object_t) + (((const completions_object_t *)pointer)->core ? sizeof(pk_completions_t) : 0);
}

static const rb_data_type_t completions_type = {
    .wrap_struct_name = "Penstock::Native::Completions",
    .function = {.dfree = completions_free, .dsize = completions_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE completions_alloc(VALUE klass) {
  completions_object_t *object;

  return TypedData_Make_Struct(klass, completions_object_t, &completions_type, object);
}

static completions_object_t *object_of(VALUE self) {
  return rb_check_typeddata(self, &completions_type);
}

static pk_completions_t *usable(VALUE self) {
  completions_object_t *object = object_of(self);

  if (!object->core) pk_raise_closed("list of watched deliveries");
  if (inherited(object)) rb_raise(rb_path2class("Penstock::ForkedHandleError"), "these deliveries are watched by another process");
  return object->core;
}

static VALUE completions_initialize(VALUE self) {
  completions_object_t *object = object_of(self);

  if (object->core) return self;
  if (!(object->core = pk_completions_new(pk_gvl_expect))) rb_sys_fail("can't create a descriptor for waiting fibers");
  object->generation = pk_fork_generation();
  enlist(object);
  return self;
}

/* fd → descriptor that is readable if take has something to return. It belongs
 * to this object: other code may not read from it or close it. */
static VALUE completions_fd(VALUE self) {
  return INT2NUM(pk_completions_fd(usable(self)));
}

/* close: numbers aren't taken any more. The descriptor is closed with the last
 * wait that may still add one. */
static VALUE completions_close(VALUE self) {
  let_go(object_of(self));
  return Qnil;
}

/* take(numbers) → numbers, with those added that have come since. Never blocks. */
static VALUE completions_take(VALUE self, VALUE numbers) {
  pk_completions_t *core = usable(self);
  uint64_t told[NUMBERS_AT_ONCE];
  size_t count;

  do {
    count = pk_completions_take(core, told, NUMBERS_AT_ONCE);
    for (size_t i = 0; i < count; i++) rb_ary_push(numbers, ULL2NUM(told[i]));
  } while (count == NUMBERS_AT_ONCE);
  return numbers;
}

/* watch(delivery, number, timeout_ms, urgent) → false if there is nothing to
 * wait for. take returns the number once, when the delivery is resolved or the
 * timeout has passed, unless unwatch comes first. nil waits without a limit. */
static VALUE completions_watch(VALUE self, VALUE delivery, VALUE number, VALUE timeout_ms, VALUE urgent) {
  return pk_delivery_watch_by(delivery, usable(self), NUM2ULL(number), timeout_ms, RTEST(urgent));
}

/* unwatch(delivery, number): ends that wait. */
static VALUE completions_unwatch(VALUE self, VALUE delivery, VALUE number) {
  completions_object_t *object = object_of(self);

  if (object->core && !inherited(object)) pk_delivery_unwatch_by(delivery, object->core, NUM2ULL(number));
  return Qnil;
}

void pk_completions_forked(void) {
  for (completions_object_t *object = objects; object; object = object->next) pk_completions_forget(object->core);
}

void Init_pk_completions(VALUE mNative) {
  VALUE cCompletions = rb_define_class_under(mNative, "Completions", rb_cObject);

  rb_define_alloc_func(cCompletions, completions_alloc);
  rb_define_method(cCompletions, "initialize", completions_initialize, 0);
  rb_define_method(cCompletions, "fd", completions_fd, 0);
  rb_define_method(cCompletions, "close", completions_close, 0);
  rb_define_method(cCompletions, "take", completions_take, 1);
  rb_define_method(cCompletions, "watch", completions_watch, 4);
  rb_define_method(cCompletions, "unwatch", completions_unwatch, 2);
}
