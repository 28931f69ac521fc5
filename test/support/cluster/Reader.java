import java.io.BufferedWriter;
import java.io.FileWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads a topic from its beginning to its current end with Kafka's own consumer and writes a line per record: partition, offset,
 * timestamp, key, value, headers, binary values in base64, "-" for null.
 */
final class Reader {
  private Reader() {}

  static long read(String servers, String topic, String isolation, String path) throws Exception {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", servers);
    properties.put("isolation.level", isolation);
    properties.put("enable.auto.commit", "false");
    properties.put("auto.offset.reset", "earliest");
    properties.put("max.poll.records", "5000");
    long count = 0;
    try (KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        BufferedWriter out = new BufferedWriter(new FileWriter(path))) {
      List<TopicPartition> partitions = new ArrayList<>();
      for (PartitionInfo info : consumer.partitionsFor(topic)) partitions.add(new TopicPartition(topic, info.partition()));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = new HashMap<>(consumer.endOffsets(partitions));
      long progress = System.nanoTime();
      while (below(consumer, ends)) {
        int before = (int) count;
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
          write(out, record);
          count++;
        }
        if (count > before) progress = System.nanoTime();
        if (System.nanoTime() - progress > 60_000_000_000L) throw new IllegalStateException("stuck below the end of " + topic);
      }
    }
    return count;
  }

  private static boolean below(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends) {
    for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
      if (consumer.position(end.getKey()) < end.getValue()) return true;
    }
    return false;
  }

  private static String text(byte[] bytes) {
    return bytes == null ? "-" : "=" + Base64.getEncoder().encodeToString(bytes);
  }

  private static void write(BufferedWriter out, ConsumerRecord<byte[], byte[]> record) throws Exception {
    StringBuilder line = new StringBuilder();
    line.append(record.partition()).append('\t').append(record.offset()).append('\t').append(record.timestamp()).append('\t')
        .append(text(record.key())).append('\t').append(text(record.value())).append('\t');
    for (Header header : record.headers()) {
      line.append(text(header.key().getBytes("UTF-8"))).append(',').append(text(header.value())).append(';');
    }
    out.write(line.append('\n').toString());
  }
}
