/* The ledger without Ruby: windows of `window` records, `stride` offsets apart, that
 * complete in random order. Reports ns per record for admitting and for completing,
 * and for encoding the commit of a window that is half done, by the thread's own
 * clock: other work of the machine doesn't count. */
#include "bench.h"

#include "../../ext/penstock_core/core/ledger.c"
#include "../../ext/penstock_core/core/ledger_cells.c"
#include "../../ext/penstock_core/core/ledger_map.c"

static int64_t cpu_ns(void) {
        struct timespec ts;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t offsets[100000];
static long order[100000];

static void shuffle(long count) {
        unsigned long long state = 88172645463325252ULL;

        for (long i = 0; i < count; i++) order[i] = i;
        for (long i = count - 1; i > 0; i--) {
                state ^= state << 13, state ^= state >> 7, state ^= state << 17;
                long j = (long)(state % (unsigned long long)(i + 1)), other = order[j];
                order[j] = order[i], order[i] = other;
        }
}

int main(int argc, char **argv) {
        long wanted = bench_number(argc, argv, "records", 10000000);
        long window = bench_number(argc, argv, "window", 10000);
        long stride = bench_number(argc, argv, "stride", 1);
        int64_t admitting = 0, completing = 0, bounding = 0, first = bench_now_ns(), began;
        long rounds = wanted / window;
        size_t bound = 0;
        pk_ledger_t ledger = {0};

        shuffle(window);
        pk_ledger_reset(&ledger, 0);
        for (long round = 0; round < rounds; round++) {
                int64_t from = ledger.tail;
                bool changed;

                for (long i = 0; i < window; i++) offsets[i] = from + i * stride;
                began = cpu_ns();
                pk_ledger_admit(&ledger, from, from + window * stride, offsets, (size_t)window);
                admitting += cpu_ns() - began;
                began = cpu_ns();
                for (long i = 0; i < window / 2; i++) pk_ledger_complete(&ledger, offsets[order[i]], &changed);
                completing += cpu_ns() - began;
                began = cpu_ns();
                bound += pk_ledger_map_bound(&ledger, 8192);
                bounding += cpu_ns() - began;
                began = cpu_ns();
                for (long i = window / 2; i < window; i++) pk_ledger_complete(&ledger, offsets[order[i]], &changed);
                completing += cpu_ns() - began;
        }
        char json[512];
        snprintf(json, sizeof json,
                 "{\"event\":\"result\",\"first_ns\":%lld,\"last_ns\":%lld,\"records\":%ld,\"admit_ns\":%.1f,"
                 "\"complete_ns\":%.1f,\"pressure_us\":%.1f,\"cpu_s\":%.3f,\"rss_kb\":%ld,\"left\":%ld}",
                 (long long)first, (long long)bench_now_ns(), rounds * window, (double)admitting / (rounds * window),
                 (double)completing / (rounds * window), (double)bounding / rounds / 1e3, bench_cpu_seconds(),
                 bench_peak_rss_kb(), (long)(ledger.incomplete + (bound == 0)));
        bench_report(json);
        return 0;
}
