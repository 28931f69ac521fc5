import java.io.BufferedWriter;
import java.io.FileWriter;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsResult;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Records what groups have committed, each time it has changed: monotonic µs before the request and after the answer, group,
 * topic, partition, offset, metadata. Runs on a thread of its own, which end() ends after one last sample.
 */
final class Sampler extends Thread {
  private final Admin admin;
  private final List<String> groups;
  private final BufferedWriter out;
  private final long everyMs;
  private final Map<String, String> last = new HashMap<>();
  private volatile boolean ending;
  private long samples;

  Sampler(Admin admin, List<String> groups, String path, long everyMs) throws Exception {
    this.admin = admin;
    this.groups = groups;
    this.out = new BufferedWriter(new FileWriter(path, true));
    this.everyMs = everyMs;
    setDaemon(true);
  }

  long end() throws Exception {
    ending = true;
    interrupt();
    join();
    for (String group : groups) look(group, 30_000);
    out.close();
    return samples;
  }

  @Override
  public void run() {
    while (!ending) {
      for (String group : groups) {
        if (!ending) look(group, 3_000);
      }
      try {
        Thread.sleep(everyMs);
      } catch (InterruptedException end) {
        return;
      }
    }
  }

  private static long nowUs() {
    return System.nanoTime() / 1_000;
  }

  /** If a coordinator doesn't answer, it is looked up again at the next sample. */
  private void look(String group, int timeoutMs) {
    long before = nowUs();
    try {
      ListConsumerGroupOffsetsResult result = admin.listConsumerGroupOffsets(
          Map.of(group, new ListConsumerGroupOffsetsSpec()), new ListConsumerGroupOffsetsOptions().timeoutMs(timeoutMs));
      Map<TopicPartition, OffsetAndMetadata> rows =
          result.partitionsToOffsetAndMetadata(group).get(timeoutMs + 1_000L, TimeUnit.MILLISECONDS);
      long after = nowUs();
      samples++;
      for (Map.Entry<TopicPartition, OffsetAndMetadata> row : rows.entrySet()) note(before, after, group, row);
      out.flush();
    } catch (Exception error) {
      Thread.interrupted();
    }
  }

  private void note(long before, long after, String group, Map.Entry<TopicPartition, OffsetAndMetadata> row) throws Exception {
    if (row.getValue() == null) return;
    String place = group + "\t" + row.getKey().topic() + "\t" + row.getKey().partition();
    String metadata = Base64.getEncoder().encodeToString(row.getValue().metadata().getBytes("UTF-8"));
    String what = row.getValue().offset() + "\t" + metadata;
    if (what.equals(last.put(place, what))) return;
    out.write(before + "\t" + after + "\t" + place + "\t" + what + "\n");
  }
}
