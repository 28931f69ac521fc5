/* Produces `records` records at `rate` a second with linger 0. Each payload is
 * "<sequence> <CLOCK_MONOTONIC ns>": a consumer on the same machine subtracts it
 * from its own clock and has the end-to-end latency. With `keys=N` the keys k0 to
 * kN-1 take turns, all in partition 0. */
#include "bench.h"

int main(int argc, char **argv) {
        long wanted = bench_number(argc, argv, "records", 3000);
        long rate = bench_number(argc, argv, "rate", 200);
        int64_t step = 1000000000 / rate;
        long keys = bench_number(argc, argv, "keys", 0);
        int32_t partition = keys ? 0 : RD_KAFKA_PARTITION_UA;
        char payload[64], key[32];

        rd_kafka_conf_t *conf = bench_conf(argc, argv);
        bench_set(conf, "linger.ms", "0");
        rd_kafka_t *rk = bench_open(RD_KAFKA_PRODUCER, conf);
        rd_kafka_topic_t *rkt =
                rd_kafka_topic_new(rk, bench_arg(argc, argv, "topic", "pace"), NULL);

        int64_t due = bench_now_ns();
        for (long i = 0; i < wanted; i++, due += step) {
                struct timespec at = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
                int length = snprintf(payload, sizeof payload, "%ld %lld", i,
                                      (long long)bench_now_ns());
                int key_length = keys ? snprintf(key, sizeof key, "k%ld", i % keys) : 0;
                rd_kafka_produce(rkt, partition, RD_KAFKA_MSG_F_COPY, payload, (size_t)length,
                                 keys ? key : NULL, (size_t)key_length, NULL);
                rd_kafka_poll(rk, 0);
        }
        rd_kafka_flush(rk, 10000);
        char json[64];
        snprintf(json, sizeof json, "{\"event\":\"result\",\"records\":%ld}", wanted);
        bench_report(json);
        _exit(0);
}
