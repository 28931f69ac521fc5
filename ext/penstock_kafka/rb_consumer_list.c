/* Converts lists of partitions between Ruby Arrays and librdkafka's lists. */
#include "rb_binding.h"

#define PK_TOPIC_BYTES 249 /* Kafka's limit */

typedef struct {
  const char *topic;
  int32_t partition;
  int64_t offset;
  VALUE metadata;
  int32_t leader_epoch;
} pk_entry_t;

static VALUE number_at(VALUE row, long index) {
  VALUE value = rb_ary_entry(row, index);

  return NIL_P(value) ? Qnil : pk_integer(value);
}

/* librdkafka treats a longer name as no topic, and continues with that. */
static const char *topic_at(VALUE row, long index) {
  VALUE topic = rb_ary_entry(row, index);

  Check_Type(topic, T_STRING);
  if (RSTRING_LEN(topic) > PK_TOPIC_BYTES) rb_raise(rb_eArgError, "a topic's name has at most %d bytes", PK_TOPIC_BYTES);
  return StringValueCStr(topic);
}

/* Raises for anything but [topic, partition, offset, metadata, epoch], the last
 * three optional; converts nothing, so no user code runs. */
static void entry_read(VALUE value, pk_entry_t *entry) {
  VALUE offset, epoch;

  Check_Type(value, T_ARRAY);
  entry->topic = topic_at(value, 0);
  entry->partition = NUM2INT(pk_integer(rb_ary_entry(value, 1)));
  offset = number_at(value, 2);
  entry->offset = NIL_P(offset) ? PK_NO_OFFSET : NUM2LL(offset);
  entry->metadata = rb_ary_entry(value, 3);
  if (!NIL_P(entry->metadata)) Check_Type(entry->metadata, T_STRING);
  epoch = number_at(value, 4);
  entry->leader_epoch = NIL_P(epoch) ? PK_NONE : NUM2INT(epoch);
}

/* librdkafka frees the metadata with its own free: so use malloc, not Ruby's. */
static void entry_add(rd_kafka_topic_partition_list_t *list, const pk_entry_t *entry) {
  rd_kafka_topic_partition_t *partition = rd_kafka_topic_partition_list_add(list, entry->topic, entry->partition);

  partition->offset = entry->offset;
  if (entry->leader_epoch >= 0) rd_kafka_topic_partition_set_leader_epoch(partition, entry->leader_epoch);
  if (NIL_P(entry->metadata)) return;
  partition->metadata_size = (size_t)RSTRING_LEN(entry->metadata);
  partition->metadata = pk_malloc(partition->metadata_size + 1);
  memcpy(partition->metadata, RSTRING_PTR(entry->metadata), partition->metadata_size);
  ((char *)partition->metadata)[partition->metadata_size] = '\0';
}

/* Reads everything once before it allocates: reading it the second time can't
 * raise, since nothing can have changed. */
rd_kafka_topic_partition_list_t *pk_list_from_values(VALUE array) {
  rd_kafka_topic_partition_list_t *list;
  pk_entry_t entry;

  Check_Type(array, T_ARRAY);
  for (long i = 0; i < RARRAY_LEN(array); i++) entry_read(RARRAY_AREF(array, i), &entry);
  list = rd_kafka_topic_partition_list_new((int)RARRAY_LEN(array));
  for (long i = 0; i < RARRAY_LEN(array); i++) {
    entry_read(RARRAY_AREF(array, i), &entry);
    entry_add(list, &entry);
  }
  RB_GC_GUARD(array);
  return list;
}

VALUE pk_list_values(const rd_kafka_topic_partition_list_t *list) {
  VALUE values = rb_ary_new();

  for (int i = 0; list && i < list->cnt; i++) {
    VALUE topic = rb_enc_interned_str_cstr(list->elems[i].topic, rb_utf8_encoding());

    rb_ary_push(values, rb_ary_new_from_args(2, topic, INT2NUM(list->elems[i].partition)));
  }
  return values;
}
