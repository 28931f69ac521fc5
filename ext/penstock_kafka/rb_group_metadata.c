/* Penstock::Native::GroupMetadata: group, generation and member id at the time
 * when the poll loop read them. Immutable memory without a handle: workers pass
 * it to a producer, even if the consumer is closed by then; the coordinator
 * refuses offsets of a generation that has ended. */
#include "rb_group_metadata.h"

#include <string.h>

#include "penstock_kafka.h"

static VALUE cGroupMetadata;

static void metadata_free(void *pointer) {
  rd_kafka_consumer_group_metadata_destroy(pointer);
}

static size_t metadata_size(const void *pointer) {
  const rd_kafka_consumer_group_metadata_t *metadata = pointer;

  return metadata ? 64 + strlen(rd_kafka_consumer_group_metadata_group_id(metadata)) +
                        strlen(rd_kafka_consumer_group_metadata_member_id(metadata))
                  : 0;
}

static const rb_data_type_t metadata_type = {
    .wrap_struct_name = "Penstock::Native::GroupMetadata",
    .function = {.dfree = metadata_free, .dsize = metadata_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static rd_kafka_consumer_group_metadata_t *metadata_of(VALUE self) {
  rd_kafka_consumer_group_metadata_t *metadata = rb_check_typeddata(self, &metadata_type);

  if (!metadata) rb_raise(rb_eArgError, "the group metadata is empty");
  return metadata;
}

void pk_group_metadata_check(VALUE self) {
  metadata_of(self);
}

/* librdkafka can't copy it through its public API: so create another from its
 * fields. */
rd_kafka_consumer_group_metadata_t *pk_group_metadata_copy(VALUE self) {
  const rd_kafka_consumer_group_metadata_t *metadata = metadata_of(self);

  return rd_kafka_consumer_group_metadata_new_with_genid(
      rd_kafka_consumer_group_metadata_group_id(metadata), rd_kafka_consumer_group_metadata_generation_id(metadata),
      rd_kafka_consumer_group_metadata_member_id(metadata),
      rd_kafka_consumer_group_metadata_group_instance_id(metadata));
}

VALUE pk_group_metadata_wrap(rd_kafka_consumer_group_metadata_t *metadata) {
  VALUE self = TypedData_Wrap_Struct(cGroupMetadata, &metadata_type, metadata);

  rb_obj_freeze(self);
  return self;
}

/* GroupMetadata.for_group(name): without a member. The coordinator then checks
 * neither member nor generation, so it fences no producer. */
static VALUE metadata_for_group(VALUE klass, VALUE group_id) {
  return pk_group_metadata_wrap(rd_kafka_consumer_group_metadata_new(StringValueCStr(group_id)));
}

static VALUE metadata_group_id(VALUE self) {
  return pk_utf8(rd_kafka_consumer_group_metadata_group_id(metadata_of(self)));
}

static VALUE metadata_generation(VALUE self) {
  return INT2NUM(rd_kafka_consumer_group_metadata_generation_id(metadata_of(self)));
}

static VALUE metadata_member_id(VALUE self) {
  return pk_utf8(rd_kafka_consumer_group_metadata_member_id(metadata_of(self)));
}

static VALUE metadata_instance_id(VALUE self) {
  return pk_utf8(rd_kafka_consumer_group_metadata_group_instance_id(metadata_of(self)));
}

void Init_pk_group_metadata(VALUE mNative) {
  cGroupMetadata = rb_define_class_under(mNative, "GroupMetadata", rb_cObject);
  rb_gc_register_mark_object(cGroupMetadata);
  rb_undef_alloc_func(cGroupMetadata);
  rb_undef_method(CLASS_OF(cGroupMetadata), "new");
  rb_define_singleton_method(cGroupMetadata, "for_group", metadata_for_group, 1);
  rb_define_method(cGroupMetadata, "group_id", metadata_group_id, 0);
  rb_define_method(cGroupMetadata, "generation", metadata_generation, 0);
  rb_define_method(cGroupMetadata, "member_id", metadata_member_id, 0);
  rb_define_method(cGroupMetadata, "instance_id", metadata_instance_id, 0);
}
