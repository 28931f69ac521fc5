/* Consumer: queries to brokers. Any thread; each waits on a thread of its own
 * (core/query.h), so that the caller can be interrupted. */
#include "rb_binding.h"
#include "core/query.h"
#include "rb_nogvl.h"

/* ---- running ---- */

static void *query_safe(void *ptr) {
  pk_query_wait(ptr);
  return ptr;
}

static void query_unblock(void *ptr) {
  pk_query_interrupt(ptr);
}

typedef struct {
  pk_query_t *query;
  VALUE (*answer)(pk_query_t *);
} asking_t;

static VALUE query_body(VALUE ptr) {
  asking_t *asking = (asking_t *)ptr;
  pk_query_t *query = asking->query;

  pk_loop_check(pk_query_start(query), query->consumer);
  while (!pk_query_done(query)) {
    pk_without_gvl(query_safe, query, query_unblock, query);
    rb_thread_check_ints();
  }
  if (query->err) pk_raise(query->err, NULL);
  return asking->answer(query);
}

static VALUE query_end(VALUE ptr) {
  pk_query_unref(((asking_t *)ptr)->query);
  return Qnil;
}

/* Takes over the caller's reference. */
static VALUE query_ask(pk_query_t *query, VALUE (*answer)(pk_query_t *)) {
  asking_t asking = {query, answer};

  return rb_ensure(query_body, (VALUE)&asking, query_end, (VALUE)&asking);
}

static void *query_new(size_t size, VALUE self, VALUE timeout_ms) {
  pk_consumer_t *core = pk_consumer_of(self);
  int timeout = NUM2INT(timeout_ms);
  pk_query_t *query = pk_malloc(size);

  memset(query, 0, size);
  pk_query_init(query, core, timeout);
  return query;
}

/* ---- watermarks ---- */

typedef struct {
  pk_query_t query;
  char *topic;
  int32_t partition;
  int64_t low, high;
} watermarks_t;

static void watermarks_run(pk_query_t *query) {
  watermarks_t *it = (watermarks_t *)query;

  query->err = rd_kafka_query_watermark_offsets(query->consumer->handle.rk, it->topic, it->partition, &it->low,
                                                &it->high, query->timeout_ms);
}

static void watermarks_clean(pk_query_t *query) {
  free(((watermarks_t *)query)->topic);
}

static VALUE watermarks_answer(pk_query_t *query) {
  watermarks_t *it = (watermarks_t *)query;

  return rb_ary_new_from_args(2, LL2NUM(it->low), LL2NUM(it->high));
}

static VALUE consumer_query_watermarks(VALUE self, VALUE topic, VALUE partition, VALUE timeout_ms) {
  VALUE name = pk_own_text(topic);
  int32_t number = NUM2INT(partition);
  watermarks_t *it = query_new(sizeof *it, self, timeout_ms);

  it->topic = pk_strdup(RSTRING_PTR(name));
  RB_GC_GUARD(name);
  it->partition = number;
  it->query.run = watermarks_run;
  it->query.clean = watermarks_clean;
  return query_ask(&it->query, watermarks_answer);
}

/* ---- offsets for times ---- */

typedef struct {
  pk_query_t query;
  rd_kafka_topic_partition_list_t *list;
} times_t;

static void times_run(pk_query_t *query) {
  query->err = rd_kafka_offsets_for_times(query->consumer->handle.rk, ((times_t *)query)->list, query->timeout_ms);
}

static void times_clean(pk_query_t *query) {
  if (((times_t *)query)->list) rd_kafka_topic_partition_list_destroy(((times_t *)query)->list);
}

static VALUE times_answer(pk_query_t *query) {
  const rd_kafka_topic_partition_list_t *list = ((times_t *)query)->list;
  VALUE answer = rb_ary_new_capa(list->cnt);

  for (int i = 0; i < list->cnt; i++) {
    const rd_kafka_topic_partition_t *it = &list->elems[i];

    rb_ary_push(answer, rb_ary_new_from_args(4, pk_utf8(it->topic), INT2NUM(it->partition), LL2NUM(it->offset),
                                             INT2NUM(it->err)));
  }
  return answer;
}

/* [[topic, partition, time in ms], …] becomes [[topic, partition, offset,
 * number], …]: -1 where no record is that recent. */
static VALUE consumer_offsets_for_times(VALUE self, VALUE wanted, VALUE timeout_ms) {
  times_t *it;
  rd_kafka_topic_partition_list_t *list;

  pk_integer(timeout_ms); /* nothing may raise once there is a list */
  NUM2INT(timeout_ms);
  pk_consumer_of(self);
  list = pk_list_from_values(wanted);
  it = query_new(sizeof *it, self, timeout_ms);
  it->list = list;
  it->query.run = times_run;
  it->query.clean = times_clean;
  return query_ask(&it->query, times_answer);
}

/* ---- metadata ---- */

typedef struct {
  pk_query_t query;
  char *topic; /* NULL: all */
  const rd_kafka_metadata_t *metadata;
  char *cluster_id;
} metadata_t;

static void metadata_run(pk_query_t *query) {
  metadata_t *it = (metadata_t *)query;
  rd_kafka_t *rk = query->consumer->handle.rk;
  rd_kafka_topic_t *topic = it->topic ? rd_kafka_topic_new(rk, it->topic, NULL) : NULL;

  if (it->topic && !topic) { /* an invalid topic name: NULL would request all topics */
    query->err = rd_kafka_last_error();
    return;
  }
  query->err = rd_kafka_metadata(rk, it->topic == NULL, topic, &it->metadata, query->timeout_ms);
  if (topic) rd_kafka_topic_destroy(topic);
  if (!query->err) it->cluster_id = rd_kafka_clusterid(rk, query->timeout_ms);
}

static void metadata_clean(pk_query_t *query) {
  metadata_t *it = (metadata_t *)query;

  free(it->topic);
  if (it->metadata) rd_kafka_metadata_destroy(it->metadata);
  if (it->cluster_id) rd_kafka_mem_free(NULL, it->cluster_id);
}

static VALUE symbol(const char *name) {
  return ID2SYM(rb_intern(name));
}

static VALUE numbers(const int32_t *list, int count) {
  VALUE array = rb_ary_new_capa(count);

  for (int i = 0; i < count; i++) rb_ary_push(array, INT2NUM(list[i]));
  return array;
}

static VALUE metadata_brokers(const rd_kafka_metadata_t *metadata) {
  VALUE brokers = rb_ary_new_capa(metadata->broker_cnt);

  for (int i = 0; i < metadata->broker_cnt; i++) {
    const rd_kafka_metadata_broker_t *it = &metadata->brokers[i];

    rb_ary_push(brokers, rb_ary_new_from_args(3, INT2NUM(it->id), pk_utf8(it->host), INT2NUM(it->port)));
  }
  return brokers;
}

static VALUE metadata_partition(const rd_kafka_metadata_partition_t *it) {
  VALUE hash = rb_hash_new();

  rb_hash_aset(hash, symbol("leader"), INT2NUM(it->leader));
  rb_hash_aset(hash, symbol("replicas"), numbers(it->replicas, it->replica_cnt));
  rb_hash_aset(hash, symbol("isrs"), numbers(it->isrs, it->isr_cnt));
  rb_hash_aset(hash, symbol("error"), INT2NUM(it->err));
  return hash;
}

static VALUE metadata_topic(const rd_kafka_metadata_topic_t *it) {
  VALUE hash = rb_hash_new();
  VALUE partitions = rb_hash_new();

  for (int i = 0; i < it->partition_cnt; i++) {
    rb_hash_aset(partitions, INT2NUM(it->partitions[i].id), metadata_partition(&it->partitions[i]));
  }
  rb_hash_aset(hash, symbol("error"), INT2NUM(it->err));
  rb_hash_aset(hash, symbol("partitions"), partitions);
  return hash;
}

static VALUE metadata_answer(pk_query_t *query) {
  metadata_t *it = (metadata_t *)query;
  VALUE hash = rb_hash_new();
  VALUE topics = rb_hash_new();

  for (int i = 0; i < it->metadata->topic_cnt; i++) {
    rb_hash_aset(topics, pk_utf8(it->metadata->topics[i].topic), metadata_topic(&it->metadata->topics[i]));
  }
  rb_hash_aset(hash, symbol("brokers"), metadata_brokers(it->metadata));
  rb_hash_aset(hash, symbol("topics"), topics);
  rb_hash_aset(hash, symbol("cluster_id"), pk_utf8(it->cluster_id));
  return hash;
}

/* All topics for nil. A topic's error is a number in its entry. */
static VALUE consumer_metadata(VALUE self, VALUE topic, VALUE timeout_ms) {
  VALUE name = NIL_P(topic) ? Qnil : pk_own_text(topic);
  metadata_t *it = query_new(sizeof *it, self, timeout_ms);

  it->topic = NIL_P(name) ? NULL : pk_strdup(RSTRING_PTR(name));
  RB_GC_GUARD(name);
  it->query.run = metadata_run;
  it->query.clean = metadata_clean;
  return query_ask(&it->query, metadata_answer);
}

/* ---- the cluster's id ---- */

static void cluster_id_run(pk_query_t *query) {
  metadata_t *it = (metadata_t *)query;

  it->cluster_id = rd_kafka_clusterid(query->consumer->handle.rk, query->timeout_ms);
}

static VALUE cluster_id_answer(pk_query_t *query) {
  return pk_utf8(((metadata_t *)query)->cluster_id);
}

/* nil if no broker returned it within the time limit. */
static VALUE consumer_cluster_id(VALUE self, VALUE timeout_ms) {
  metadata_t *it = query_new(sizeof *it, self, timeout_ms);

  it->query.run = cluster_id_run;
  it->query.clean = metadata_clean;
  return query_ask(&it->query, cluster_id_answer);
}

void Init_pk_consumer_query(VALUE cConsumer) {
  rb_define_method(cConsumer, "query_watermarks", consumer_query_watermarks, 3);
  rb_define_method(cConsumer, "offsets_for_times", consumer_offsets_for_times, 2);
  rb_define_method(cConsumer, "metadata", consumer_metadata, 2);
  rb_define_method(cConsumer, "cluster_id", consumer_cluster_id, 1);
}
