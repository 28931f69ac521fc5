/* Consumes `records` records of a topic through one queue per partition ("lanes"):
 * the design of Penstock's driver without Ruby, hence the bound it is compared with.
 *
 * One thread: it waits on an eventfd that the queues' callbacks write, polls the
 * consumer queue for rebalances, drains the lanes that became ready, touches each
 * payload and destroys each message at once. */
#include "bench.h"

#include <poll.h>
#include <sys/eventfd.h>

#define MAX_LANES 4096
#define BATCH 1000

struct lane {
        rd_kafka_queue_t *queue;
        _Atomic int ready;
};

static struct lane lanes[MAX_LANES];
static int lane_count;
static int wake_fd;

static void on_ready(rd_kafka_t *rk, void *opaque) {
        (void)rk;
        if (opaque) ((struct lane *)opaque)->ready = 1;
        uint64_t one = 1;
        if (write(wake_fd, &one, sizeof one) < 0) return; /* full = already awake */
}

static void split(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list) {
        for (int i = 0; i < list->cnt && lane_count < MAX_LANES; i++) {
                struct lane *lane = &lanes[lane_count++];
                lane->queue = rd_kafka_queue_get_partition(
                        rk, list->elems[i].topic, list->elems[i].partition);
                rd_kafka_queue_forward(lane->queue, NULL);
                rd_kafka_queue_cb_event_enable(lane->queue, on_ready, lane);
                lane->ready = 1;
        }
}

static void serve(rd_kafka_t *rk, rd_kafka_queue_t *queue) {
        rd_kafka_event_t *event;
        while ((event = rd_kafka_queue_poll(queue, 0))) {
                if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE) {
                        rd_kafka_topic_partition_list_t *list =
                                rd_kafka_event_topic_partition_list(event);
                        if (rd_kafka_event_error(event) ==
                            RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
                                split(rk, list);
                                rd_kafka_incremental_assign(rk, list);
                        } else {
                                rd_kafka_incremental_unassign(rk, list);
                        }
                }
                rd_kafka_event_destroy(event);
        }
}

int main(int argc, char **argv) {
        long wanted = bench_number(argc, argv, "records", 1000000);
        long seen = 0, bytes = 0;
        int64_t first = 0, last = 0;
        double cpu_first = 0;
        rd_kafka_message_t *batch[BATCH];

        wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        rd_kafka_conf_t *conf = bench_conf(argc, argv);
        bench_set(conf, "group.id", bench_arg(argc, argv, "group", "bench-c"));
        bench_set(conf, "auto.offset.reset", "earliest");
        bench_set(conf, "enable.auto.commit", "false");
        bench_set(conf, "enable.auto.offset.store", "false");
        bench_set(conf, "partition.assignment.strategy", "cooperative-sticky");
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR);
        rd_kafka_t *rk = bench_open(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(rk);

        rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
        rd_kafka_queue_cb_event_enable(queue, on_ready, NULL);
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(topics, bench_arg(argc, argv, "topic", "bulk"), -1);
        rd_kafka_subscribe(rk, topics);

        while (seen < wanted) {
                struct pollfd waited = {.fd = wake_fd, .events = POLLIN};
                uint64_t ignored;
                poll(&waited, 1, 500);
                if (read(wake_fd, &ignored, sizeof ignored) < 0) ignored = 0;
                serve(rk, queue);
                for (int i = 0; i < lane_count; i++) {
                        if (!lanes[i].ready) continue;
                        lanes[i].ready = 0;
                        ssize_t count;
                        do {
                                count = rd_kafka_consume_batch_queue(
                                        lanes[i].queue, 0, batch, BATCH);
                                if (count > 0 && !first) {
                                        first = bench_now_ns();
                                        cpu_first = bench_cpu_seconds();
                                }
                                for (ssize_t j = 0; j < count; j++) {
                                        if (!batch[j]->err) {
                                                seen++;
                                                bytes += (long)batch[j]->len +
                                                         (((char *)batch[j]->payload)[0] & 1);
                                        }
                                        rd_kafka_message_destroy(batch[j]);
                                }
                        } while (count == BATCH);
                }
        }
        last = bench_now_ns();

        char json[512];
        snprintf(json, sizeof json,
                 "{\"event\":\"result\",\"first_ns\":%lld,\"last_ns\":%lld,"
                 "\"records\":%ld,\"bytes\":%ld,\"cpu_s\":%.3f,\"rss_kb\":%ld,"
                 "\"version\":\"%s\"}",
                 (long long)first, (long long)last, seen, bytes,
                 bench_cpu_seconds() - cpu_first, bench_peak_rss_kb(),
                 rd_kafka_version_str());
        bench_report(json);
        _exit(0);
}
