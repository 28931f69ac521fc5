# frozen_string_literal: true

require_relative "../odd_records"

# Faults of records: poison, odd bytes, too large ones, damaged responses, topics that change.
module Penstock
  module TestSupport
    module FaultRuns
      define "T18", "poison at the first, a middle and the last position, in several keys",
        passes: "other keys are processed; every bad record is one exact dead letter after exactly its attempts" do |t18|
        {"in order" => {mode: "whole"}, "by key" => {mode: "key"}, "by message" => {mode: "message"}}.each do |name, plan|
          t18.run name, allowed: IN_ORDER do
            failing("app", kinds: {"poison" => 20, "flaky:1" => 20}, poison_at: [1, 2, 3], **plan)
            begin_all
            pass(20)
            finish
          end
        end

        t18.run "retry topics", allowed: IN_ORDER do
          dead = run.topic("app-dead", partitions: 1)
          consumers("app", mode: "key", kinds: {"poison" => 20, "flaky:1" => 20}, failing: true, dead: dead,
            retries: [300, 1_000], offsets: "marks")
          begin_all
          pass(20)
          finish
        end

        t18.run "every record is poison, then none is", allowed: IN_ORDER do
          dead = run.topic("app-dead", partitions: 1)
          topic = run.topic("app", partitions: 3)
          # Nothing but bad records looks like an outage: they are held for as long as the breaker's limit, then dead-lettered.
          app = consumers("app", topic: topic, rate: 0, failing: true, dead: dead, offsets: "marks", mode: "key",
            breaker_limit: 5_000)
          run.feed({name: topic, rate: 50, keys: 10, kinds: {"poison" => 1_000}}, name: "poisoner", count: 200).await_end(60)
          begin_all
          run.feed({name: topic, rate: 50, keys: 10}, name: "healthy", count: 500)
          pass(15)
          expect_stall(30, app)
          finish
        end

        t18.test "ledger/poison", broker: true
      end

      define "T19", "records that kill the process",
        passes: "quarantined after three crashes on its own; others are processed" do |t19|
        t19.test "ledger/killers", broker: :cluster
      end

      define "T20", "null, empty, huge, binary and repeated values in records and headers",
        passes: "byte equality end to end, and in dead letters" do |t20|
        t20.run "odd records", without: %w[i1 i2 i3 i4 i5 i6 i8 i12] do
          odd = OddRecords.new(self)
          app = odd.consumers
          begin_all(settle: 0)
          odd.produce
          wait_until(60, "copies of all odd records", every: 0.5) { odd.arrived? }
          expect("t20_bytes") { odd.differences }
          finish
          run.measured[:records] = odd.count
          run.say("#{odd.count} odd records of #{app.topic}")
        end
      end

      define "T21", "payloads that can't be decoded: random bytes, damaged compression, JSON bombs",
        passes: "only that record fails; memory less than doubles" do |t21|
        t21.run "undecodable payloads", allowed: IN_ORDER do
          dead = run.topic("app-dead", partitions: 1)
          app = consumers("app", mode: "key", failing: true, dead: dead, offsets: "marks")
          begin_all
          before = app.alive.sum { |member| member.usage[:rss] }
          garbage = OddRecords.produce_garbage(bootstrap_servers: run.bootstrap_servers, topic: app.topic, random: random)
          pass(15)
          after = app.alive.sum { |member| member.usage[:rss] }
          run.measured.merge!(garbage: garbage, rss_before_mb: before >> 20, rss_after_mb: after >> 20)
          expect("t21_memory") { "#{before >> 20} MB became #{after >> 20} MB" if after > 2 * before }
          expect("t21_letters") do |checker|
            letters = checker.database.value("SELECT COUNT(DISTINCT source_partition || '/' || source_offset) FROM log " \
              "WHERE topic = ? AND NOT valid", dead)
            "#{letters} letters of #{garbage} undecodable records" unless letters == garbage
          end
          finish
        end
      end

      define "T22", "records at, below and above the size limits", passes: "typed errors; consumers continue" do |t22|
        t22.run "sizes", allowed: IN_ORDER, without: %w[i2_invented] do
          topic = run.topic("app", partitions: 2, config: {"max.message.bytes" => 100_000})
          app = consumers("app", topic: topic, rate: 0)
          begin_all(settle: 0)
          outcomes = OddRecords.produce_sizes(run, topic)
          run.measured[:outcomes] = outcomes
          expect("t22_outcomes") { "#{outcomes} instead of #{OddRecords::SIZES}" unless outcomes == OddRecords::SIZES }
          run.feed({name: topic, rate: 100, keys: 10}, bytes: 90_000, count: 300)
          pass(6)
          expect_stall(20, app)
          finish
        end
      end

      define "T23", "responses with flipped bits, cut short, or with wrong lengths",
        passes: "no crash, and nothing wrong is accepted where checksums are checked (check.crcs)" do |t23|
        # A flipped bit outside of the records, which no checksum covers, may change the error code to "offset out of
        # range", a record's offset or its partition: then records run again, or are missed.
        damaged = [*WITH_DEATHS, "commit failed", "connection reset", "during a fault"]
        t23.run "damaged fetch responses", allowed: damaged, without: %w[i1 i2 i3 i6] do
          kafka = {"check.crcs": true}
          [consumers("whole", kafka: kafka, rate: 80), failing("key", mode: "key", kafka: kafka, rate: 80)]
          begin_all
          damaged = damage(:fetch, 15)
          run.measured[:damaged] = damaged
          expect("t23_damaged") { "no response was damaged" if damaged.zero? }
          finish
        end

        t23.run "single flipped bits in records", allowed: damaged do
          [consumers("whole", kafka: {"check.crcs": true}, rate: 40),
            consumers("key", mode: "key", kafka: {"check.crcs": true}, rate: 40)]
          begin_all(bytes: 6_000)
          run.measured[:damaged] = nemesis.rule(:corrupt, 1, text: ".....", api: :fetch, side: :response, permille: 60,
            times: 30) { pass(20) }
          finish
        end

        t23.run "damaged responses to everything else", allowed: damaged do
          [consumers("whole", rate: 60), consumers("consumer", protocol: :consumer, rate: 60)]
          begin_all
          apis = %i[metadata heartbeat join_group sync_group offset_commit offset_fetch find_coordinator list_offsets
            consumer_group_heartbeat]
          run.measured[:damaged] = apis.sum { |api| damage(api, 3) }
          finish
        end
      end

      define "T24", "a topic is deleted and recreated, grows, or appears while a pattern waits for it",
        passes: "clear events; new partitions are read from their start" do |t24|
        t24.run "grows from 6 to 12 partitions", allowed: IN_ORDER do
          kafka = {"topic.metadata.refresh.interval.ms": 2_000}
          apps = [consumers("cooperative", kafka: kafka), consumers("consumer", protocol: :consumer, kafka: kafka)]
          begin_all(kafka: kafka)
          apps.each { |app|
            nemesis.fault("topic grows", app.topic) {
              run.agent.call(:create_partitions, topic: app.topic, total: 12)
            }
          }
          pass(15)
          expect("t24_partitions") do |checker|
            few = apps.filter_map do |app|
              count = checker.database.value("SELECT COUNT(DISTINCT partition) FROM done WHERE application = ?", app.name)
              "#{app.name}: records of #{count} partitions" if count < 12
            end
            few.join("; ") if few.any?
          end
          finish
        end

        t24.run "a topic that a pattern fits", allowed: IN_ORDER do
          app = consumers("app", topic: "#{run.id}-late", rate: 0, pattern: "#{run.id}-la.*",
            kafka: {"topic.metadata.refresh.interval.ms": 2_000})
          app.start
          pass(3)
          nemesis.fault("topic appears", app.topic) { cluster.create_topic(app.topic, partitions: 3) }
          run.sample
          run.feed({name: app.topic, rate: 100, keys: 20}, count: 600)
          pass(10)
          finish
        end

        t24.run "deleted and recreated", without: %w[i2_wrong i2_invented i1_lost_by i3 i4 i5 i6 i7] do
          topic = run.topic("app", partitions: 2)
          # In development a consumer would create the topic itself.
          app = consumers("app", topic: topic, rate: 0,
            kafka: {"topic.metadata.refresh.interval.ms": 2_000, "allow.auto.create.topics": false})
          begin_all(settle: 0)
          run.feed({name: topic, rate: 100, keys: 10}, name: "first", count: 300).await_end(60)
          pass(4)
          nemesis.fault("topic deleted", topic) { run.agent.call(:delete_topic, topic: topic) }
          pass(6)
          nemesis.fault("topic recreated", topic) { cluster.create_topic(topic, partitions: 2) }
          run.feed({name: topic, rate: 100, keys: 10}, name: "second", count: 500).await_end(90)
          pass(5)
          # Kafka forgets the group's offsets of a topic that is deleted. If a commit outlives it, its offset is reset instead.
          expect("t24_events") do |checker|
            run.measured[:resets] = checker.database.value("SELECT COUNT(*) FROM events WHERE name = 'consumer.offset_reset'")
            kinds = checker.database.rows("SELECT partition, kind FROM rebalances ORDER BY partition, at").group_by(&:first)
              .transform_values { |rows| rows.map(&:last).each_cons(2).include?(%w[revoked assign]) }
            "revoked and assigned again: #{kinds}" unless kinds == {0 => true, 1 => true}
          end
          app.members.each { |member| run.say(member.log.lines.grep(/offset|anew|topic/i).last(3).join) }
          finish
        end
      end

      define "T25", "the committed offset is outside the log", passes: "auto.offset.reset is obeyed; the jump is counted" do |t25|
        t25.run "beyond the end, and below the start", without: %w[i1 i2_wrong i3 i5 i6 i7] do
          topic = run.topic("app", partitions: 2)
          app = consumers("app", topic: topic, rate: 0, members: 1)
          begin_all(settle: 0)
          run.feed({name: topic, rate: 200, keys: 10}, name: "first", count: 400).await_end(60)
          wait_until(30, "a commit") { run.agent.call(:committed, group: app.group).sum { |row| row["offset"] } == 400 }
          app.alive.first.stop
          ends = run.agent.call(:end_offsets, topic: topic)
          nemesis.fault("offset beyond the end", "0") do
            run.agent.call(:alter_offsets, group: app.group, topic: topic, partition: 0, offset: 1_000_000)
          end
          run.feed({name: topic, rate: 200, keys: 10}, name: "second", count: 400).await_end(60)
          nemesis.fault("records deleted", "1") do
            run.agent.call(:delete_records, topic: topic, partition: 1, offset: ends.fetch("1") + 50)
          end
          app.start
          pass(8)
          expect("t25_resets") do |checker|
            events = checker.database.rows("SELECT details FROM events WHERE name = 'consumer.offset_reset'")
              .map { |(text)| JSON.parse(text).slice("partition", "old_offset", "new_offset", "count") }
            run.measured[:resets] = events
            "consumer.offset_reset: #{events}" unless events.map { |event| event["partition"] }.sort == [0, 1]
          end
          expect("t25_done") do |checker|
            missing = checker.database.value("SELECT COUNT(*) FROM log WHERE topic = ? AND NOT EXISTS (SELECT 1 FROM runs " \
              "WHERE runs.uid = log.uid AND runs.ended IS NOT NULL)", topic)
            "#{missing} records of the log never ran" if missing.positive?
          end
          finish
        end
      end
    end
  end
end
