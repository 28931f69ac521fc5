import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;

/**
 * Kafka's own admin client and consumer as a service for tests: requests come as lines of JSON on standard input
 * ({"id": 1, "call": "topic", "topic": "orders"}), answers go to standard output with the same id. Each request has a thread of its
 * own, so a slow one delays no other. Ends with its standard input.
 */
public final class Agent {
  static final ObjectMapper JSON = new ObjectMapper();
  final String servers;
  final Admin admin;
  final Map<String, Sampler> samplers = new HashMap<>();
  final PrintStream out = System.out;

  Agent(String servers) {
    this.servers = servers;
    Properties properties = new Properties();
    properties.put("bootstrap.servers", servers);
    properties.put("request.timeout.ms", "4000");
    properties.put("default.api.timeout.ms", "30000");
    properties.put("metadata.max.age.ms", "2000");
    properties.put("reconnect.backoff.max.ms", "300");
    admin = Admin.create(properties);
  }

  public static void main(String[] arguments) throws Exception {
    Agent agent = new Agent(arguments[0]);
    ExecutorService threads = Executors.newCachedThreadPool();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    agent.out.println("{\"id\":0,\"result\":\"ready\"}");
    for (String line; (line = in.readLine()) != null; ) {
      JsonNode request = JSON.readTree(line);
      threads.submit(() -> agent.serve(request));
    }
    Runtime.getRuntime().halt(0);
  }

  void serve(JsonNode request) {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("id", request.get("id").asInt());
    try {
      answer.put("result", call(request.get("call").asText(), request));
    } catch (Throwable error) {
      Throwable cause = error.getCause() == null ? error : error.getCause();
      answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
    }
    try {
      String text = JSON.writeValueAsString(answer);
      synchronized (out) {
        out.println(text);
        out.flush();
      }
    } catch (Exception error) {
      error.printStackTrace();
    }
  }

  Object call(String name, JsonNode in) throws Exception {
    switch (name) {
      case "cluster": return cluster();
      case "create_topic": return createTopic(in);
      case "delete_topic": return get(admin.deleteTopics(List.of(in.get("topic").asText())).all());
      case "create_partitions": return createPartitions(in);
      case "alter_topic": return alter(ConfigResource.Type.TOPIC, in.get("topic").asText(), in.get("config"));
      case "alter_group": return alter(ConfigResource.Type.GROUP, in.get("group").asText(), in.get("config"));
      case "topics": return get(admin.listTopics().names());
      case "topic": return topic(in.get("topic").asText());
      case "copies": return copies(in.get("topic").asText(), in.get("brokers"));
      case "lagging": return lagging();
      case "reassign": return reassign(in);
      case "reassignments": return get(admin.listPartitionReassignments().reassignments()).size();
      case "elect": return elect(in);
      case "group": return group(in.get("group").asText());
      case "transaction": return transaction(in.get("transactional_id").asText());
      case "committed": return committed(in.get("group").asText());
      case "alter_offsets": return alterOffsets(in);
      case "delete_records": return deleteRecords(in);
      case "end_offsets": return endOffsets(in.get("topic").asText(), in.path("isolation").asText("read_uncommitted"));
      case "read": return Reader.read(servers, in.get("topic").asText(), in.get("isolation").asText(), in.get("path").asText());
      case "sample": return sample(in);
      case "end_sample": return endSample(in.get("path").asText());
      default: throw new IllegalArgumentException("no such call: " + name);
    }
  }

  static <T> T get(KafkaFuture<T> future) throws Exception {
    return future.get(40, TimeUnit.SECONDS);
  }

  Map<String, Object> cluster() throws Exception {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("cluster_id", get(admin.describeCluster().clusterId()));
    List<Integer> nodes = new ArrayList<>();
    for (Node node : get(admin.describeCluster().nodes())) nodes.add(node.id());
    answer.put("brokers", nodes);
    answer.put("controller", get(admin.describeMetadataQuorum().quorumInfo()).leaderId());
    return answer;
  }

  Object createTopic(JsonNode in) throws Exception {
    NewTopic topic = new NewTopic(in.get("topic").asText(), Optional.of(in.get("partitions").asInt()), Optional.empty());
    topic.configs(texts(in.get("config")));
    return get(admin.createTopics(List.of(topic)).all());
  }

  Object createPartitions(JsonNode in) throws Exception {
    return get(admin.createPartitions(Map.of(in.get("topic").asText(), NewPartitions.increaseTo(in.get("total").asInt()))).all());
  }

  Object alter(ConfigResource.Type type, String name, JsonNode config) throws Exception {
    List<AlterConfigOp> changes = new ArrayList<>();
    texts(config).forEach((key, value) -> changes.add(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)));
    return get(admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name), changes)).all());
  }

  static Map<String, String> texts(JsonNode node) {
    Map<String, String> texts = new HashMap<>();
    if (node != null) node.properties().forEach(field -> texts.put(field.getKey(), field.getValue().asText()));
    return texts;
  }

  static List<Integer> ids(List<Node> nodes) {
    List<Integer> ids = new ArrayList<>();
    for (Node node : nodes) ids.add(node.id());
    return ids;
  }

  List<Map<String, Object>> topic(String name) throws Exception {
    List<Map<String, Object>> rows = new ArrayList<>();
    for (TopicPartitionInfo info : get(admin.describeTopics(List.of(name)).allTopicNames()).get(name).partitions()) {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("partition", info.partition());
      row.put("leader", info.leader() == null || info.leader().isEmpty() ? -1 : info.leader().id());
      row.put("replicas", ids(info.replicas()));
      row.put("isr", ids(info.isr()));
      rows.add(row);
    }
    return rows;
  }

  /** Partitions of any topic that have fewer replicas in sync than replicas, or no leader. */
  /** How many partitions of the topic each of these brokers stores: it stores those that it knows. */
  Map<Integer, Long> copies(String topic, JsonNode brokers) throws Exception {
    List<Integer> ids = new ArrayList<>();
    brokers.forEach(id -> ids.add(id.asInt()));
    Map<Integer, Long> counts = new LinkedHashMap<>();
    get(admin.describeLogDirs(ids).allDescriptions()).forEach((id, folders) -> counts.put(id, folders.values().stream()
        .flatMap(folder -> folder.replicaInfos().keySet().stream()).filter(place -> place.topic().equals(topic)).count()));
    return counts;
  }

  int lagging() throws Exception {
    Set<String> names = get(admin.listTopics(new ListTopicsOptions().listInternal(true)).names());
    int count = 0;
    for (TopicDescription topic : get(admin.describeTopics(names).allTopicNames()).values()) {
      for (TopicPartitionInfo info : topic.partitions()) {
        if (info.leader() == null || info.leader().isEmpty() || info.isr().size() < info.replicas().size()) count++;
      }
    }
    return count;
  }

  Object reassign(JsonNode in) throws Exception {
    Map<TopicPartition, Optional<NewPartitionReassignment>> changes = new HashMap<>();
    for (JsonNode row : in.get("partitions")) {
      List<Integer> replicas = new ArrayList<>();
      row.get("replicas").forEach(node -> replicas.add(node.asInt()));
      changes.put(new TopicPartition(row.get("topic").asText(), row.get("partition").asInt()),
          Optional.of(new NewPartitionReassignment(replicas)));
    }
    return get(admin.alterPartitionReassignments(changes).all());
  }

  /** Without a topic: of all partitions. It is no error if a partition has its preferred leader already. */
  Object elect(JsonNode in) throws Exception {
    Set<TopicPartition> partitions = in.has("topic")
        ? Set.of(new TopicPartition(in.get("topic").asText(), in.get("partition").asInt())) : null;
    try {
      return get(admin.electLeaders(ElectionType.PREFERRED, partitions).all());
    } catch (java.util.concurrent.ExecutionException error) {
      if (error.getCause() instanceof org.apache.kafka.common.errors.ElectionNotNeededException) return null;
      throw error;
    }
  }

  Map<String, Object> group(String id) throws Exception {
    ConsumerGroupDescription group = get(admin.describeConsumerGroups(List.of(id)).all()).get(id);
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("coordinator", group.coordinator().id());
    answer.put("state", group.groupState().toString());
    List<Map<String, Object>> members = new ArrayList<>();
    for (MemberDescription member : group.members()) {
      List<String> partitions = new ArrayList<>();
      member.assignment().topicPartitions().forEach(partition -> partitions.add(partition.toString()));
      members.add(Map.of("client_id", member.clientId(), "member_id", member.consumerId(), "partitions", partitions));
    }
    answer.put("members", members);
    return answer;
  }

  Map<String, Object> transaction(String id) throws Exception {
    TransactionDescription transaction = get(admin.describeTransactions(List.of(id)).description(id));
    return Map.of("coordinator", transaction.coordinatorId(), "state", transaction.state().toString());
  }

  List<Map<String, Object>> committed(String group) throws Exception {
    List<Map<String, Object>> rows = new ArrayList<>();
    for (Map.Entry<TopicPartition, OffsetAndMetadata> entry :
        get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()).entrySet()) {
      if (entry.getValue() == null) continue;
      rows.add(Map.of("topic", entry.getKey().topic(), "partition", entry.getKey().partition(), "offset",
          entry.getValue().offset(), "metadata", entry.getValue().metadata()));
    }
    return rows;
  }

  Object alterOffsets(JsonNode in) throws Exception {
    TopicPartition partition = new TopicPartition(in.get("topic").asText(), in.get("partition").asInt());
    return get(admin.alterConsumerGroupOffsets(in.get("group").asText(),
        Map.of(partition, new OffsetAndMetadata(in.get("offset").asLong()))).all());
  }

  Object deleteRecords(JsonNode in) throws Exception {
    TopicPartition partition = new TopicPartition(in.get("topic").asText(), in.get("partition").asInt());
    return get(admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(in.get("offset").asLong()))).all());
  }

  Map<String, Long> endOffsets(String topic, String isolation) throws Exception {
    Map<TopicPartition, OffsetSpec> specs = new HashMap<>();
    for (Map<String, Object> row : topic(topic)) specs.put(new TopicPartition(topic, (Integer) row.get("partition")), OffsetSpec.latest());
    ListOffsetsOptions options = new ListOffsetsOptions(isolation.equals("read_committed")
        ? org.apache.kafka.common.IsolationLevel.READ_COMMITTED : org.apache.kafka.common.IsolationLevel.READ_UNCOMMITTED);
    Map<String, Long> ends = new LinkedHashMap<>();
    get(admin.listOffsets(specs, options).all()).forEach((partition, info) ->
        ends.put(String.valueOf(partition.partition()), info.offset()));
    return ends;
  }

  synchronized Object sample(JsonNode in) throws Exception {
    List<String> groups = new ArrayList<>();
    in.get("groups").forEach(node -> groups.add(node.asText()));
    String path = in.get("path").asText();
    samplers.put(path, new Sampler(admin, groups, path, in.get("every_ms").asLong()));
    samplers.get(path).start();
    return null;
  }

  synchronized Object endSample(String path) throws Exception {
    return samplers.remove(path).end();
  }
}
