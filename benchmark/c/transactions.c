/* Commits transactions of `batch` records one after another: the cost of a
 * transaction without Ruby. Reports are served on a thread of their own. */
#include "bench.h"

#include <pthread.h>

static _Atomic int closing;

static void *reports(void *queue) {
        while (!closing) {
                rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 100);
                if (event) rd_kafka_event_destroy(event);
        }
        return NULL;
}

static void must(const char *what, rd_kafka_error_t *error) {
        if (error) bench_die(what, rd_kafka_error_string(error));
}

static void transaction(rd_kafka_t *rk, rd_kafka_topic_t *rkt, long batch) {
        char payload[100];
        memset(payload, 'x', sizeof payload);

        must("begin", rd_kafka_begin_transaction(rk));
        for (long i = 0; i < batch; i++)
                if (rd_kafka_produce(rkt, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, payload,
                                     sizeof payload, NULL, 0, NULL) == -1)
                        bench_die("produce", rd_kafka_err2str(rd_kafka_last_error()));
        must("commit", rd_kafka_commit_transaction(rk, -1));
}

int main(int argc, char **argv) {
        long wanted = bench_number(argc, argv, "transactions", 300);
        long warm = bench_number(argc, argv, "warm", 20);
        long batch = bench_number(argc, argv, "batch", 100);
        int64_t *samples = calloc((size_t)wanted, sizeof *samples);

        rd_kafka_conf_t *conf = bench_conf(argc, argv);
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR);
        rd_kafka_t *rk = bench_open(RD_KAFKA_PRODUCER, conf);
        rd_kafka_topic_t *rkt =
                rd_kafka_topic_new(rk, bench_arg(argc, argv, "topic", "transactions"), NULL);
        pthread_t thread;
        pthread_create(&thread, NULL, reports, rd_kafka_queue_get_main(rk));
        must("init", rd_kafka_init_transactions(rk, 60000));

        int64_t first = 0;
        for (long i = -warm; i < wanted; i++) {
                int64_t begun = bench_now_ns();
                if (i == 0) first = begun;
                transaction(rk, rkt, batch);
                if (i >= 0) samples[i] = bench_now_ns() - begun;
        }
        int64_t last = bench_now_ns();
        closing = 1;
        pthread_join(thread, NULL);

        bench_report_samples(first, last, samples, wanted);
        _exit(0);
}
