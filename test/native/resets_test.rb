# frozen_string_literal: true

require "test_helper"
require "penstock/native/admin"
require "support/native_member"

# Requests of a running server to its brokers, while these reset connections, die, come back and move groups and partitions
# between each other. A few seconds here; PENSTOCK_STRESS_SECONDS=600 for longer, best with the address sanitizer (bin/test
# test/native/resets_test.rb --asan).
class ResetsTest < Penstock::TestCase
  leaks_checked_per_class "the cluster's sockets come and go with their clients"

  SECONDS = Float(ENV.fetch("PENSTOCK_STRESS_SECONDS", "4"))
  BROKERS = 3
  PARTITIONS = 6
  # Faults of the cluster, drawn at random. A broker that is down comes back after some of the others.
  FAULTS = %i[reset reset reset down up leader coordinator coordinator].freeze
  # Requests of the admin handle, each with a timeout that is often too short.
  REQUESTS = {
    groups: ->(admin, ms) { admin.describe_groups(%w[group other], ms) },
    offsets: ->(admin, ms) { admin.committed_offsets("group", [["orders", 0]], ms) },
    list: ->(admin, ms) { admin.list_groups(ms) },
    ends: ->(admin, ms) { admin.list_offsets([["orders", 0, -1], ["orders", 1, -2]], ms) },
    metadata: ->(admin, ms) { admin.metadata(nil, ms) },
    create: ->(admin, ms) { admin.create_topics([["more", 1, 1, nil]], ms) },
    write: ->(admin, ms) { admin.alter_group_offsets("other", [["orders", 0, 1, "text", nil]], ms) },
    commits: ->(admin, ms) { admin.groups_offsets([["group", nil], ["other", [["orders", 0]]], ["third", nil]], ms, true) },
    # The cluster doesn't know these: that answer comes from the coordinator, or not at all.
    forget: ->(admin, ms) { admin.delete_group_offsets("other", [["orders", 0]], ms) },
    delete: ->(admin, ms) { admin.delete_groups(%w[other third], ms) }
  }.freeze
  # Events that must have occurred.
  SHOWN = %i[answers rebalances asked].freeze
  TIMES_MS = [1, 20, 100, 400].freeze
  # In checks that are 10 ms apart.
  FAULT_EVERY = 12

  def setup
    @random = Random.new(Integer(ENV.fetch("PENSTOCK_STRESS_SEED", "1")))
    @cluster = Penstock::Native::MockCluster.new(brokers: BROKERS)
    @cluster.group_initial_rebalance_delay = 20
    @cluster.create_topic("orders", PARTITIONS, BROKERS)
    @down = nil
    @counts = Hash.new(0)
  end

  test "members and admin requests survive brokers that reset connections, die and move groups" do
    stop = false
    threads = Array.new(2) { |index| Thread.new { requests(Random.new(index)) { stop } } } << Thread.new { members { stop } }
    observe_for(SECONDS) { strike if @random.rand(FAULT_EVERY).zero? }
    wait_until(20, "an answer, a rebalance and a request") do # under valgrind nothing may have happened yet
      strike if @random.rand(10 * FAULT_EVERY).zero?
      SHOWN.all? { |what| @counts[what].positive? } || threads.any? { |thread| !thread.alive? }
    end
    @cluster.broker_up(@down) if @down
    stop = true
    errors = threads.map { |thread| thread.join(60) ? thread.value : "hangs: #{thread.backtrace.first(10).join(" < ")}" }

    assert_empty errors.compact
    assert_empty SHOWN.reject { |what| @counts[what].positive? }, @counts
    puts @counts if SECONDS > 60
  ensure
    @cluster.close
  end

  private

  # Some members, of which one joins or leaves now and then; each requests committed offsets with every rebalance.
  def members
    all = Array.new(2) { member }
    token = 0
    until yield
      all.each do |one|
        one.turn(5)
        token = heard(one, token)
      end
      change(all) if @random.rand(150).zero?
    end
    all.each { |one| one.close(3_000) }
    nil
  rescue Exception => error # rubocop:disable Lint/RescueException -- it is what is looked for
    error.full_message(highlight: false)
  end

  def member
    Penstock::TestSupport::NativeMember.new(@cluster, "orders", "session.timeout.ms": 3_000, "reconnect.backoff.max.ms": 200,
      "topic.metadata.refresh.interval.ms": 500, "coordinator.query.interval.ms": 500)
  end

  def heard(one, token)
    one.events.each do |event|
      @counts[:answers] += 1 if event.first == :committed
      next unless event.first == :assign && event[1].any?
      @counts[:rebalances] += 1
      one.consumer.fetch_committed(token += 1, event[1], timeout_ms: TIMES_MS.sample(random: @random) * 10)
      one.consumer.commit(token, event[1].map { |topic, partition| [topic, partition, token] })
    end
    one.events.clear
    token
  end

  def change(all)
    if all.size > 1 && @random.rand(2).zero?
      all.shift.close(500)
    elsif all.size < 4
      all << member
    end
  end

  def requests(random)
    admin = Penstock::Native::Admin.new("bootstrap.servers" => @cluster.bootstrap_servers)
    until yield
      begin
        REQUESTS.values.sample(random: random).call(admin, TIMES_MS.sample(random: random))
      rescue Penstock::KafkaError, Penstock::WaitTimeoutError
        nil
      end
      @counts[:asked] += 1
    end
    admin.close
    nil
  rescue Exception => error # rubocop:disable Lint/RescueException -- it is what is looked for
    error.full_message(highlight: false)
  end

  def strike
    __send__(FAULTS.sample(random: @random))
    @counts[:faults] += 1
  end

  # Its connections are closed; it accepts new ones at once.
  def reset
    broker = 1 + @random.rand(BROKERS)
    return if broker == @down
    @cluster.broker_down(broker)
    @cluster.broker_up(broker)
  end

  def down
    return if @down
    @cluster.broker_down(@down = 1 + @random.rand(BROKERS))
  end

  def up
    @cluster.broker_up(@down) if @down
    @down = nil
  end

  def leader = @cluster.partition_leader("orders", @random.rand(PARTITIONS), 1 + @random.rand(BROKERS))
  def coordinator = @cluster.coordinator("group", "group", 1 + @random.rand(BROKERS))
end
