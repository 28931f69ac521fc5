/* Shared by the C peers: arguments as key=value, stamps, and one line of JSON
 * written to the descriptor that the harness passed in BENCH_FD. */
#ifndef BENCH_H
#define BENCH_H

#include <rdkafka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static inline int64_t bench_now_ns(void) {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline double bench_cpu_seconds(void) {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
               (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static inline long bench_peak_rss_kb(void) {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
}

/* The value of `name=…` among the arguments, or the fallback. */
static inline const char *bench_arg(int argc, char **argv, const char *name,
                                    const char *fallback) {
        size_t length = strlen(name);
        for (int i = 1; i < argc; i++)
                if (!strncmp(argv[i], name, length) && argv[i][length] == '=')
                        return argv[i] + length + 1;
        return fallback;
}

static inline long bench_number(int argc, char **argv, const char *name,
                                long fallback) {
        const char *value = bench_arg(argc, argv, name, NULL);
        return value ? atol(value) : fallback;
}

static inline void bench_die(const char *what, const char *why) {
        fprintf(stderr, "%s: %s\n", what, why);
        exit(1);
}

static inline void bench_set(rd_kafka_conf_t *conf, const char *name,
                             const char *value) {
        char problem[256];
        if (rd_kafka_conf_set(conf, name, value, problem, sizeof problem) !=
            RD_KAFKA_CONF_OK)
                bench_die(name, problem);
}

/* A configuration with bootstrap.servers and every argument `kafka.NAME=VALUE`. */
static inline rd_kafka_conf_t *bench_conf(int argc, char **argv) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        bench_set(conf, "bootstrap.servers",
                  bench_arg(argc, argv, "bootstrap", "127.0.0.1:9092"));
        for (int i = 1; i < argc; i++) {
                if (strncmp(argv[i], "kafka.", 6)) continue;
                char *pair = strdup(argv[i] + 6);
                char *equals = strchr(pair, '=');
                if (!equals) bench_die(argv[i], "needs =value");
                *equals = '\0';
                bench_set(conf, pair, equals + 1);
                free(pair);
        }
        return conf;
}

static inline rd_kafka_t *bench_open(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
        char problem[256];
        rd_kafka_t *rk = rd_kafka_new(type, conf, problem, sizeof problem);
        if (!rk) bench_die("rd_kafka_new", problem);
        return rk;
}

static inline void bench_report(const char *json) {
        const char *fd = getenv("BENCH_FD");
        dprintf(fd ? atoi(fd) : STDOUT_FILENO, "%s\n", json);
}

static int bench_compare(const void *a, const void *b) {
        int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
        return left < right ? -1 : left > right;
}

/* Sorts the samples and returns the one at the given share (0.5 = median). */
static inline int64_t bench_percentile(int64_t *samples, size_t count, double share) {
        qsort(samples, count, sizeof *samples, bench_compare);
        size_t index = (size_t)(share * (double)count);
        return samples[index < count ? index : count - 1];
}

/* The line of a program that does one thing after another: its rate, and how long each took. */
static inline void bench_report_samples(int64_t first, int64_t last, int64_t *samples, long count) {
        char json[512];
        snprintf(json, sizeof json,
                 "{\"event\":\"result\",\"first_ns\":%lld,\"last_ns\":%lld,"
                 "\"records\":%ld,\"p50_ms\":%.4f,\"p99_ms\":%.4f,\"cpu_s\":%.3f,"
                 "\"rss_kb\":%ld,\"version\":\"%s\"}",
                 (long long)first, (long long)last, count,
                 (double)bench_percentile(samples, (size_t)count, 0.5) / 1e6,
                 (double)bench_percentile(samples, (size_t)count, 0.99) / 1e6,
                 bench_cpu_seconds(), bench_peak_rss_kb(), rd_kafka_version_str());
        bench_report(json);
}

#endif
