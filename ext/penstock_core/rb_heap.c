/* Penstock::Native::Heap: see core/heap.h and native/heap.rb. */
#include "penstock_core.h"

#include "core/heap.h"

static VALUE heap_fill(VALUE self) { return SIZET2NUM(pk_heap_fill()); }

void Init_pk_heap(VALUE mNative) {
  VALUE mHeap = rb_define_module_under(mNative, "Heap");

  rb_define_singleton_method(mHeap, "fill", heap_fill, 0);
}
