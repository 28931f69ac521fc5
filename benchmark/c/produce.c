/* Produces `records` records of `bytes` bytes with an opaque each and a delivery
 * report each, and ends when every report has arrived: the cost of an asynchronous
 * produce without Ruby. Also fills topics: `partitions=N` distributes the records
 * evenly, `partition=N` puts them all into one; with `keys=N` the keys k0 to kN-1
 * take turns. */
#include "bench.h"

#include <pthread.h>

struct handle {
        int done;
        int64_t offset;
};

static _Atomic long delivered;
static _Atomic long failed;
static _Atomic int closing;
static rd_kafka_t *rk;

static void *reports(void *queue) {
        while (!closing || rd_kafka_outq_len(rk)) {
                rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 100);
                const rd_kafka_message_t *message;
                if (!event) continue;
                while ((message = rd_kafka_event_message_next(event))) {
                        struct handle *handle = message->_private;
                        handle->done = 1;
                        handle->offset = message->offset;
                        message->err ? failed++ : delivered++;
                        free(handle);
                }
                rd_kafka_event_destroy(event);
        }
        return NULL;
}

int main(int argc, char **argv) {
        long wanted = bench_number(argc, argv, "records", 500000);
        long bytes = bench_number(argc, argv, "bytes", 100);
        long partitions = bench_number(argc, argv, "partitions", 0);
        long fixed = bench_number(argc, argv, "partition", RD_KAFKA_PARTITION_UA);
        long keys = bench_number(argc, argv, "keys", 0);
        char key[32];
        const char *topic = bench_arg(argc, argv, "topic", "bench");
        char *payload = malloc((size_t)bytes);
        memset(payload, 'x', (size_t)bytes);

        rd_kafka_conf_t *conf = bench_conf(argc, argv);
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR);
        rk = bench_open(RD_KAFKA_PRODUCER, conf);
        rd_kafka_queue_t *queue = rd_kafka_queue_get_main(rk);
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
        pthread_t thread;
        pthread_create(&thread, NULL, reports, queue);

        int64_t first = bench_now_ns();
        for (long i = 0; i < wanted; i++) {
                struct handle *handle = calloc(1, sizeof *handle);
                int32_t partition = partitions ? (int32_t)(i % partitions) : (int32_t)fixed;
                int key_length = keys ? snprintf(key, sizeof key, "k%ld", i % keys) : 0;
                while (rd_kafka_produce(rkt, partition, RD_KAFKA_MSG_F_COPY, payload, (size_t)bytes,
                                        keys ? key : NULL, (size_t)key_length, handle) == -1) {
                        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                                bench_die("produce", rd_kafka_err2str(rd_kafka_last_error()));
                        usleep(200);
                }
        }
        int64_t dispatched = bench_now_ns();
        rd_kafka_flush(rk, 120000);
        closing = 1;
        pthread_join(thread, NULL);
        int64_t last = bench_now_ns();

        char json[512];
        snprintf(json, sizeof json,
                 "{\"event\":\"result\",\"first_ns\":%lld,\"last_ns\":%lld,"
                 "\"dispatched_ns\":%lld,\"records\":%ld,\"failed\":%ld,\"cpu_s\":%.3f,"
                 "\"rss_kb\":%ld,\"version\":\"%s\"}",
                 (long long)first, (long long)last, (long long)dispatched, (long)delivered,
                 (long)failed, bench_cpu_seconds(), bench_peak_rss_kb(),
                 rd_kafka_version_str());
        bench_report(json);
        _exit(0);
}
