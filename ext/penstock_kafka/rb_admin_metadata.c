/* The metadata of the cluster: a request that librdkafka only offers as a call
 * that blocks. It runs on a thread of its own (core/admin.h). */
#include "rb_admin.h"

#include "rb_nogvl.h"

typedef struct {
  pk_admin_t *admin;
  pk_admin_job_t *job;
  int64_t deadline_ms;
  bool done;
} job_args;

static void *job_safe(void *pointer) {
  job_args *args = pointer;

  args->done = pk_admin_job_wait(args->job, args->deadline_ms);
  return pointer;
}

static void job_unblock(void *pointer) {
  pk_admin_job_wake(pointer);
}

static VALUE partition_hash(const struct rd_kafka_metadata_partition *partition) {
  VALUE hash = rb_hash_new(), replicas = rb_ary_new(), isrs = rb_ary_new();

  for (int i = 0; i < partition->replica_cnt; i++) rb_ary_push(replicas, INT2NUM(partition->replicas[i]));
  for (int i = 0; i < partition->isr_cnt; i++) rb_ary_push(isrs, INT2NUM(partition->isrs[i]));
  rb_hash_aset(hash, ID2SYM(rb_intern("leader")), INT2NUM(partition->leader));
  rb_hash_aset(hash, ID2SYM(rb_intern("replicas")), replicas);
  rb_hash_aset(hash, ID2SYM(rb_intern("isrs")), isrs);
  rb_hash_aset(hash, ID2SYM(rb_intern("error")), INT2NUM((int)partition->err));
  return hash;
}

static VALUE topic_hash(const struct rd_kafka_metadata_topic *topic) {
  VALUE hash = rb_hash_new(), partitions = rb_hash_new();

  for (int i = 0; i < topic->partition_cnt; i++) {
    rb_hash_aset(partitions, INT2NUM(topic->partitions[i].id), partition_hash(&topic->partitions[i]));
  }
  rb_hash_aset(hash, ID2SYM(rb_intern("error")), INT2NUM((int)topic->err));
  rb_hash_aset(hash, ID2SYM(rb_intern("partitions")), partitions);
  return hash;
}

/* rd_kafka_clusterid and controllerid return the values cached from this very
 * metadata; with a timeout of 0 they don't wait. */
static VALUE metadata_hash(pk_admin_t *admin, const struct rd_kafka_metadata *metadata) {
  VALUE hash = rb_hash_new(), brokers = rb_ary_new(), topics = rb_hash_new();
  char *cluster_id = rd_kafka_clusterid(admin->handle.rk, 0);

  rb_hash_aset(hash, ID2SYM(rb_intern("cluster_id")), pk_utf8(cluster_id));
  if (cluster_id) rd_kafka_mem_free(admin->handle.rk, cluster_id);
  for (int i = 0; i < metadata->broker_cnt; i++) {
    const struct rd_kafka_metadata_broker *broker = &metadata->brokers[i];

    rb_ary_push(brokers, rb_ary_new_from_args(3, INT2NUM(broker->id), pk_utf8(broker->host), INT2NUM(broker->port)));
  }
  for (int i = 0; i < metadata->topic_cnt; i++) {
    rb_hash_aset(topics, pk_utf8_frozen(metadata->topics[i].topic), topic_hash(&metadata->topics[i]));
  }
  rb_hash_aset(hash, ID2SYM(rb_intern("controller")), INT2NUM(rd_kafka_controllerid(admin->handle.rk, 0)));
  rb_hash_aset(hash, ID2SYM(rb_intern("brokers")), brokers);
  rb_hash_aset(hash, ID2SYM(rb_intern("topics")), topics);
  return hash;
}

static VALUE metadata_body(VALUE pointer) {
  job_args *args = (job_args *)pointer;
  const struct rd_kafka_metadata *metadata;
  rd_kafka_resp_err_t err;

  while (!args->done) {
    if (atomic_load(&args->admin->closing)) pk_raise_closed(PK_ADMIN_WHAT);
    if (pk_remaining_ms(args->deadline_ms) == 0) pk_admin_raise_failed(args->admin, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL);
    pk_without_gvl(job_safe, args, job_unblock, args->job);
  }
  err = pk_admin_job_result(args->job, &metadata);
  if (err) pk_admin_raise_failed(args->admin, err, NULL);
  pk_admin_forget_errors(args->admin);
  return metadata_hash(args->admin, metadata);
}

static VALUE metadata_cleanup(VALUE pointer) {
  job_args *args = (job_args *)pointer;

  if (pk_inherited(&args->admin->handle)) return Qnil;
  pk_admin_job_release(args->job);
  pk_handle_leave(&args->admin->handle);
  return Qnil;
}

/* metadata(topic or nil for all, timeout_ms) → {cluster_id:, controller:,
 * brokers: [[id, host, port], …], topics: {name => {error:, partitions: {id =>
 * {leader:, replicas:, isrs:, error:}}}}}. Creates no topic. */
static VALUE admin_metadata(VALUE self, VALUE topic, VALUE timeout) {
  VALUE name = NIL_P(topic) ? Qnil : pk_own_text(topic);
  int timeout_ms = NUM2INT(timeout);
  job_args args = {pk_admin_get(self), NULL, pk_deadline((int64_t)timeout_ms + PK_ADMIN_GRACE_MS), false};

  if (timeout_ms < 0) rb_raise(rb_eArgError, "timeout_ms must not be negative");
  pk_enter(&args.admin->handle, PK_ADMIN_WHAT);
  args.job = pk_admin_job_start(args.admin, NIL_P(name) ? NULL : RSTRING_PTR(name), timeout_ms);
  RB_GC_GUARD(name);
  if (!args.job) {
    pk_handle_leave(&args.admin->handle);
    pk_raise(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, "can't create a thread for the metadata request");
  }
  return rb_ensure(metadata_body, (VALUE)&args, metadata_cleanup, (VALUE)&args);
}

void pk_admin_define_metadata(VALUE cAdmin) {
  rb_define_method(cAdmin, "metadata", admin_metadata, 2);
}
