import java.io.BufferedWriter;
import java.io.FileWriter;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Produces records of 100 bytes with keys at an even rate until TERM: Kafka's own producer with its defaults, acks=all and
 * idempotent. Writes a line for each acknowledgement into a journal: partition, offset, monotonic ns; "failed" for a record that
 * was not delivered.
 *
 * Arguments: JOURNAL SERVERS TOPIC RATE KEYS
 */
final class Feed {
  private Feed() {}

  private static volatile boolean ending;

  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", arguments[1]);
    double rate = Double.parseDouble(arguments[3]);
    int keys = Integer.parseInt(arguments[4]);
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      ending = true;
      try {
        main.join();
      } catch (InterruptedException end) {
        Thread.currentThread().interrupt();
      }
    }));
    byte[] value = new byte[100];
    try (BufferedWriter journal = new BufferedWriter(new FileWriter(arguments[0]));
        KafkaProducer<String, byte[]> producer = new KafkaProducer<>(properties, new StringSerializer(), new ByteArraySerializer())) {
      long began = System.nanoTime();
      for (long count = 0; !ending; count++) {
        long due = began + (long) (count * 1e9 / rate);
        while (System.nanoTime() < due && !ending) LockSupport.parkNanos(due - System.nanoTime());
        producer.send(new ProducerRecord<>(arguments[2], "key-" + count % keys, value), (where, error) -> {
          try {
            journal.write(error == null ? where.partition() + " " + where.offset() + " " + System.nanoTime() + "\n" : "failed\n");
            journal.flush();
          } catch (java.io.IOException wrong) {
            throw new java.io.UncheckedIOException(wrong);
          }
        });
      }
    }
  }
}
