import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * One member of a consumer group: Kafka's own client, with its default settings except for the arguments NAME=VALUE. Writes a line
 * per record into a journal: partition, offset, monotonic ns, pid. Closed in order by TERM.
 *
 * Arguments: JOURNAL TOPIC NAME=VALUE...
 */
final class Member {
  private Member() {}

  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    for (int i = 2; i < arguments.length; i++) {
      String[] pair = arguments[i].split("=", 2);
      properties.put(pair[0], pair[1]);
    }
    long pid = ProcessHandle.current().pid();
    KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      consumer.wakeup();
      try {
        main.join();
      } catch (InterruptedException end) {
        Thread.currentThread().interrupt();
      }
    }));
    try (FileOutputStream journal = new FileOutputStream(arguments[0], true)) {
      consumer.subscribe(List.of(arguments[1]));
      while (true) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
          String line = record.partition() + " " + record.offset() + " " + System.nanoTime() + " " + pid + "\n";
          journal.write(line.getBytes(StandardCharsets.US_ASCII));
        }
      }
    } catch (WakeupException end) {
      // TERM.
    } finally {
      consumer.close();
    }
  }
}
