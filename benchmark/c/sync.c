/* Produces `records` records one after another, each awaited before the next:
 * the round trip that a synchronous produce cannot go below. `rest_us` is slept
 * before each, to compare with callers that pause as long between messages: a
 * program that sleeps in between takes longer to be woken than one that has just run. */
#include "bench.h"

static void await_report(rd_kafka_queue_t *queue) {
        for (;;) {
                rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 10000);
                if (!event) bench_die("sync", "no report within 10 s");
                size_t count = rd_kafka_event_message_count(event);
                rd_kafka_event_destroy(event);
                if (count) return;
        }
}

int main(int argc, char **argv) {
        long wanted = bench_number(argc, argv, "records", 2000);
        long warm = bench_number(argc, argv, "warm", 200);
        long rest_us = bench_number(argc, argv, "rest_us", 0);
        int64_t *samples = calloc((size_t)wanted, sizeof *samples);
        char payload[100];
        memset(payload, 'x', sizeof payload);

        rd_kafka_conf_t *conf = bench_conf(argc, argv);
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR);
        rd_kafka_t *rk = bench_open(RD_KAFKA_PRODUCER, conf);
        rd_kafka_queue_t *queue = rd_kafka_queue_get_main(rk);
        rd_kafka_topic_t *rkt =
                rd_kafka_topic_new(rk, bench_arg(argc, argv, "topic", "sync"), NULL);

        int64_t first = 0;
        for (long i = -warm; i < wanted; i++) {
                if (rest_us) usleep((useconds_t)rest_us);
                int64_t begun = bench_now_ns();
                if (i == 0) first = begun;
                rd_kafka_produce(rkt, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, payload,
                                 sizeof payload, NULL, 0, NULL);
                await_report(queue);
                if (i >= 0) samples[i] = bench_now_ns() - begun;
        }
        int64_t last = bench_now_ns();

        bench_report_samples(first, last, samples, wanted);
        _exit(0);
}
