/* Penstock::Native::Watched: lists which of the deliveries that fibers of one
 * thread wait for are resolved, or have timed out. Used by that thread; its
 * descriptor is for the thread's scheduler. */
#include <errno.h>

#include "core/watched.h"
#include "producing.h"
#include "turn.h"

#define NUMBERS_AT_ONCE 512

/* All objects of the process, so that a forked child finds their descriptors;
 * guarded by the GVL. */
typedef struct watched_object {
  pk_watched_t *core; /* NULL until it is initialized */
  unsigned generation;
  struct watched_object *prev, *next;
} watched_object_t;

static watched_object_t *objects;

static void enlist(watched_object_t *object) {
  object->prev = NULL; /* it may have been closed before */
  object->next = objects;
  if (objects) objects->prev = object;
  objects = object;
}

static void strike(watched_object_t *object) {
  if (object->prev) object->prev->next = object->next;
  if (object->next) object->next->prev = object->prev;
  if (objects == object) objects = object->next;
}

static bool inherited(const watched_object_t *object) {
  return object->generation != pk_fork_generation();
}

/* In a forked child a lock may be held by a thread that doesn't exist there:
 * leaves the parent's memory as it is, and only closes the descriptor. */
static void let_go(watched_object_t *object) {
  if (!object->core) return;
  strike(object);
  if (!inherited(object)) pk_watched_release(object->core);
  object->core = NULL;
}

static void watched_free(void *pointer) {
  let_go(pointer);
  xfree(pointer);
}

static size_t watched_size(const void *pointer) {
  return sizeof(watched_object_t) + (((const watched_object_t *)pointer)->core ? sizeof(pk_watched_t) : 0);
}

static const rb_data_type_t watched_type = {
    .wrap_struct_name = "Penstock::Native::Watched",
    .function = {.dfree = watched_free, .dsize = watched_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE watched_alloc(VALUE klass) {
  watched_object_t *object;

  return TypedData_Make_Struct(klass, watched_object_t, &watched_type, object);
}

static watched_object_t *object_of(VALUE self) {
  return rb_check_typeddata(self, &watched_type);
}

static pk_watched_t *usable(VALUE self) {
  watched_object_t *object = object_of(self);

  if (!object->core) pk_raise_closed("list of watched deliveries");
  if (inherited(object)) rb_raise(rb_path2class("Penstock::ForkedHandleError"), "these deliveries are watched by another process");
  return object->core;
}

static VALUE watched_initialize(VALUE self) {
  watched_object_t *object = object_of(self);

  if (object->core) return self;
  if (!(object->core = pk_watched_new(pk_turn_expect))) rb_sys_fail("can't create a descriptor for waiting fibers");
  object->generation = pk_fork_generation();
  enlist(object);
  return self;
}

/* fd → descriptor that is readable if take has something to return. It belongs
 * to this object: other code may not read from it or close it. */
static VALUE watched_fd(VALUE self) {
  return INT2NUM(pk_watched_fd(usable(self)));
}

/* close: numbers aren't taken any more. The descriptor is closed with the last
 * wait that may still add one. */
static VALUE watched_close(VALUE self) {
  let_go(object_of(self));
  return Qnil;
}

/* take(numbers) → numbers, with those added that have come since. Never blocks. */
static VALUE watched_take(VALUE self, VALUE numbers) {
  pk_watched_t *core = usable(self);
  uint64_t told[NUMBERS_AT_ONCE];
  size_t count;

  do {
    count = pk_watched_take(core, told, NUMBERS_AT_ONCE);
    for (size_t i = 0; i < count; i++) rb_ary_push(numbers, ULL2NUM(told[i]));
  } while (count == NUMBERS_AT_ONCE);
  return numbers;
}

/* watch(delivery, number, timeout_ms, urgent) → false if there is nothing to
 * wait for. take returns the number once, when the delivery is resolved or the
 * timeout has passed, unless unwatch comes first. nil waits without a limit. */
static VALUE watched_watch(VALUE self, VALUE delivery, VALUE number, VALUE timeout_ms, VALUE urgent) {
  return pk_delivery_watch_by(delivery, usable(self), NUM2ULL(number), timeout_ms, RTEST(urgent));
}

/* unwatch(delivery, number): ends that wait. */
static VALUE watched_unwatch(VALUE self, VALUE delivery, VALUE number) {
  watched_object_t *object = object_of(self);

  if (object->core && !inherited(object)) pk_delivery_unwatch_by(delivery, object->core, NUM2ULL(number));
  return Qnil;
}

void pk_watched_forked(void) {
  for (watched_object_t *object = objects; object; object = object->next) pk_watched_forget(object->core);
}

void Init_pk_watched(VALUE mNative) {
  VALUE cWatched = rb_define_class_under(mNative, "Watched", rb_cObject);

  rb_define_alloc_func(cWatched, watched_alloc);
  rb_define_method(cWatched, "initialize", watched_initialize, 0);
  rb_define_method(cWatched, "fd", watched_fd, 0);
  rb_define_method(cWatched, "close", watched_close, 0);
  rb_define_method(cWatched, "take", watched_take, 1);
  rb_define_method(cWatched, "watch", watched_watch, 4);
  rb_define_method(cWatched, "unwatch", watched_unwatch, 2);
}
