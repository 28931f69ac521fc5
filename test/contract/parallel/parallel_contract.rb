# frozen_string_literal: true

require "support/consuming"

module Penstock
  # Concurrent keys of one partition, with any broker.
  module ParallelContract
    def self.rule(name, &body) = RULES << [name, body]
    RULES = []
    def self.add_to(base) = RULES.each { |name, body| base.test(name, &body) }

    BY_KEY = ->(_route) { parallel by: :key }
    MANUAL = lambda do |_route|
      parallel by: :key
      manual_offset_management true
    end
    private_constant :BY_KEY, :MANUAL

    # `count` records over `keys` keys in turn.
    def keyed_topic(count, keys)
      unique("topic").tap do |name|
        create_topic(name, 1)
        produce_keyed(name, Array.new(count) { |index| ["k#{index % keys}", index.to_s] })
      end
    end

    rule "[VP basic] records of one key run in order and never at the same time, while other keys run concurrently" do
      topic, seen = keyed_topic(400, 8), queue
      busy, lock, widest = Hash.new(0), Mutex.new, 0
      consuming(topic, BY_KEY, concurrency: 4) do
        messages.each do |message|
          lock.synchronize do
            busy[message.raw_key] += 1
            widest = [widest, busy.values.sum].max
          end
          # A fast worker could get all units: the first one waits until another key runs too.
          TestSupport::Wait.wait_until(40, "another key at the same time") { widest > 1 }
          seen << [message.raw_key, message.offset, busy[message.raw_key]]
          lock.synchronize { busy[message.raw_key] -= 1 }
        end
      end
      all = take(seen, 400)

      assert_equal (0...400).to_a, all.map { |_key, offset| offset }.sort
      all.group_by(&:first).each_value { |rows| assert_equal rows.map { |row| row[1] }.sort, rows.map { |row| row[1] } }
      assert(all.all? { |_key, _offset, at_once| at_once == 1 })
    end

    rule "[VP balanced] skewed keys: the next free worker takes the next key, so all workers are busy until nothing is left" do
      topic, seen = unique("topic").tap { |name| create_topic(name, 1) }, queue
      produce_keyed(topic, Array.new(60) { |index| [(index % 2 == 0) ? "heavy" : "k#{index}", index.to_s] })
      options = ->(_) { parallel by: :key, distribution: :balanced }
      consuming(topic, options, concurrency: 3, max_messages: 5) do
        TestSupport::Wait.observe_for(0.02)
        seen << [Thread.current, messages.first.raw_key, messages.map(&:offset)]
      end
      all = []
      all << seen.pop until all.sum { |_thread, _key, offsets| offsets.size } == 60
      heavy, others = all.partition { |_thread, key, _offsets| key == "heavy" }

      assert_equal (0...60).step(2).to_a, heavy.flat_map(&:last)
      assert_equal 3, all.map(&:first).uniq.size
      assert_operator others.map(&:first).uniq.size, :>=, 2, "those beside the heavy key aren't left to one worker"
      assert_operator all.rindex(heavy.last), :>, all.index(others[4]), "the heavy key runs beside the others, not before"
    end

    rule "[VP consistent] a key always has the same instance, keys that share one never run at the same time, each is in order" do
      topic, seen, busy = keyed_topic(60, 6), queue, Hash.new(0).compare_by_identity
      consuming(topic, ->(_) { parallel by: :key, max_partitions: 3, distribution: :consistent }, concurrency: 4) do
        busy[self] += 1
        Thread.pass
        messages.each { |message| seen << [message.raw_key, self, busy[self], message.offset] }
        busy[self] -= 1
      end
      all = take(seen, 60)
      produce_keyed(topic, Array.new(60) { |index| ["k#{index % 6}", index.to_s] })
      all += take(seen, 60)

      assert_equal [1], all.map { |row| row[2] }.uniq
      assert_operator all.map { |row| row[1] }.uniq(&:object_id).size, :<=, 3
      all.group_by(&:first).each_value do |rows|
        assert_equal 1, rows.map { |row| row[1].object_id }.uniq.size
        assert_equal rows.map(&:last).sort, rows.map(&:last)
      end
    end

    rule "a key that waits for an external service doesn't block others" do
      topic, seen, release = keyed_topic(40, 4), queue, queue
      consuming(topic, BY_KEY, concurrency: 2) do
        release.pop if messages.first.raw_key == "k1"
        messages.each { |message| seen << message.offset }
      end
      others = take(seen, 30)

      assert_empty others.select { |offset| offset % 4 == 1 }
    ensure
      10.times { release&.push(true) }
    end

    rule "records completed after a stuck record are not run again after a clean restart" do
      topic, seen, release = keyed_topic(60, 6), queue, queue
      first = consuming(topic, BY_KEY, concurrency: 3, shutdown_timeout: 6_000) do
        raise "not now" if messages.first.raw_key == "k2"
        messages.each { |message| seen << message.offset }
      end
      done = take(seen, 50)
      assert_equal 0, first.stop
      assert_equal 2, committed(topic)
      again = queue
      consuming(topic, BY_KEY, concurrency: 3) { messages.each { |message| again << message.offset } }

      assert_equal (0...60).to_a, (done + take(again, 10)).sort
      observe_for(0.3) { assert_empty again }
    ensure
      release&.push(true)
    end

    rule "[VP collapse] nothing collapses: a failed key is retried, in order, with attempts and a back-off of its own" do
      topic, seen, attempts = keyed_topic(30, 3), queue, queue
      consuming(topic, BY_KEY, concurrency: 3) do
        messages.each do |message|
          if message.offset == 1
            attempts << attempt
            raise "not yet" if attempt < 4
          end
          seen << message.offset
        end
      end

      assert_equal [1, 2, 3, 4], take(attempts, 4)
      all = take(seen, 30)
      assert_equal (0...30).to_a, all.sort
      assert_operator all.index(1), :>, all.index(0)
      assert_equal all.select { |offset| offset % 3 == 1 }.sort, all.select { |offset| offset % 3 == 1 }
    end

    rule "[VP marking] a mark includes the record and those before it in its unit, but no other keys" do
      topic, seen = keyed_topic(12, 3), queue
      first = consuming(topic, MANUAL, concurrency: 2) do
        mark_as_consumed(messages.last) unless messages.first.raw_key == "k1"
        messages.each { |message| seen << message.offset }
      end
      take(seen, 12)
      first.stop
      assert_equal 1, committed(topic)
      again = queue
      consuming(topic, MANUAL) { messages.each { |message| again << message.offset } }

      assert_equal [1, 4, 7, 10], take(again, 4).sort
    end

    rule "[VP metadata exact/current] current: the last metadata is committed; exact: the metadata of the committed offset" do
      told = %i[current exact].to_h do |strategy|
        topic, kept, @group = keyed_topic(3, 3), queue, unique("group")
        options = lambda do |_route|
          parallel by: :key, offset_metadata_strategy: strategy
          manual_offset_management true
        end
        running = consuming(topic, options, concurrency: 1) { kept << [messages.first.offset, self, messages.first] }
        marked = take(kept, 3).to_h { |offset, *mark| [offset, mark] }
        seen = [[0, "zero"], [2, "two"], [1, "one"]].map do |offset, text|
          consumer, message = marked[offset]
          assert consumer.mark_as_consumed!(message, text)
          [committed(topic), committed_map(topic).user_metadata]
        end
        running.stop
        [strategy, seen]
      end

      assert_equal({current: [[1, "zero"], [1, "two"], [3, "one"]], exact: [[1, "zero"], [1, "zero"], [3, "two"]]}, told)
    end

    rule "a mark may come after consume has returned" do
      topic, seen, kept = keyed_topic(4, 2), queue, queue
      running = consuming(topic, MANUAL) do
        messages.each do |message|
          kept << [self, message]
          seen << message.offset
        end
      end
      take(seen, 4)
      take(kept, 4).each { |consumer, message| assert consumer.mark_as_consumed(message) }
      running.stop

      assert_equal 4, committed(topic)
    end

    rule "by message, every record is a unit of its own" do
      topic, seen = topic_with(50), queue
      consuming(topic, ->(_) { parallel by: :message }, concurrency: 4) { seen << [messages.size, messages.first.offset] }
      all = take(seen, 50)

      assert_equal [1], all.map(&:first).uniq
      assert_equal (0...50).to_a, all.map(&:last).sort
    end

    rule "records without a key run alone and don't block others" do
      topic, seen = topic_with(20), queue
      consuming(topic, BY_KEY, concurrency: 2) do
        raise "once" if messages.first.offset == 3 && attempt == 1
        seen << [messages.size, messages.first.offset]
      end
      all = take(seen, 20)

      assert_equal [1], all.map(&:first).uniq
      assert_equal (0...20).to_a, all.map(&:last).sort
    end

    rule "a partitioner in the route decides which records belong together" do
      topic, seen = keyed_topic(40, 8), queue
      consuming(topic, ->(_) { virtual_partitions(partitioner: ->(message) { message.raw_payload.to_i % 2 }) }, concurrency: 4) do
        seen << messages.map(&:offset)
      end
      units = []
      units << seen.pop until units.sum(&:size) == 40

      assert(units.all? { |offsets| offsets.map { |offset| offset % 2 }.uniq.size == 1 })
    end

    rule "virtual partitions keep records in order whose partitioner returns nil, and 1 and \"1\" are one key" do
      topic, seen, running, most = keyed_topic(40, 8), queue, Hash.new(0), Hash.new(0)
      by = ->(message) { [nil, nil, 1, "1"][message.raw_payload.to_i % 4] }
      consuming(topic, ->(_) { virtual_partitions(partitioner: by) }, concurrency: 4) do
        key = by.call(messages.first).to_s
        most[key] = [most[key], running[key] += 1].max
        Thread.pass
        messages.each { |message| seen << [key, message.offset] }
        running[key] -= 1
      end

      orders = take(seen, 40).group_by(&:first).transform_values { |rows| rows.map(&:last) }
      assert_equal [["", "1"], true], [orders.keys.sort, orders.values.all? { |offsets| offsets == offsets.sort }]
      assert_equal({"" => 1, "1" => 1}, most)
    end

    rule "a seek in one key concerns the whole partition" do
      topic, seen = keyed_topic(20, 4), queue
      lock, sought = Mutex.new, nil
      consuming(topic, BY_KEY, concurrency: 2) do
        messages.each { |message| seen << message.offset }
        last = messages.last.offset
        next if last < 16 || !lock.synchronize { sought.nil? && sought = last }
        seek(10)
      end
      ran = []
      wait_until(20, "all 20, the last of the call again", state: -> { ran }) do
        ran.concat(all(seen)).uniq.size == 20 && ran.count(sought) == 2
      end
      wait_until(20, "everything is committed") { committed(topic) == 20 }

      assert_empty ran.tally.select { |offset, times| offset < 10 && times > 1 }
    end

    rule "a seek waits for what other keys have before it, also for a next attempt" do
      topic, seen, sought = keyed_topic(12, 4), queue, queue
      consuming(topic, BY_KEY, concurrency: 2, max_messages: 1) do
        seen << [messages.first.offset, attempt]
        raise "not yet" if messages.first.offset.zero? && sought.empty?
        next if messages.first.offset != 9 || !sought.empty?
        sought << true
        seek(8)
      end
      all = []
      all << seen.pop until all.include?([11, 1]) && all.include?([0, 2]) && all.count([9, 1]) == 2
      wait_until(20, "everything is committed") { committed(topic) == 12 }

      assert_empty all.map(&:first).tally.select { |offset, times| times > 1 && offset.between?(1, 7) && offset % 4 != 0 }
    end

    rule "[collapse_until!] the highest request wins: up to it records run one by one in their order, then concurrently" do
      topic, seen, busy = unique("topic").tap { |name| create_topic(name, 1) }, queue, Hash.new(0)
      asked = false
      consuming(topic, BY_KEY, concurrency: 4) do
        busy[self] += 1
        seen << [collapsed?, busy.values.sum, messages.map(&:offset)]
        [9, 5].each { |offset| collapse_until!(offset) } unless asked
        asked = true
        Thread.pass
        busy[self] -= 1
      end
      produce_keyed(topic, [%w[first 0]])
      assert_equal [[false, 1, [0]]], take(seen, 1)
      produce_keyed(topic, Array.new(29) { |index| ["k#{index % 5}", index.to_s] })
      all = []
      all << seen.pop until all.sum { |_collapsed, _busy, offsets| offsets.size } == 29
      collapsed = all.select(&:first)

      assert_equal (1..9).map { |offset| [true, 1, [offset]] }, collapsed
      assert_equal collapsed, all.first(9)
    end

    rule "a pause in one key holds the whole partition, and the rest of the unit runs after it" do
      topic, seen = keyed_topic(8, 2), queue
      paused = queue
      consuming(topic, BY_KEY, concurrency: 2) do
        if paused.empty? && messages.first.raw_key == "k0"
          paused << true
          pause(:consecutive, 300)
          next
        end
        messages.each { |message| seen << message.offset }
      end

      assert_equal (0...8).to_a, take(seen, 8).sort
    end

    rule "a stop while keys run commits what they completed" do
      topic, seen = keyed_topic(300, 30), queue
      first = consuming(topic, BY_KEY, concurrency: 5) { messages.each { |message| seen << message.offset } }
      take(seen, 50)
      first.stop
      before = Array.new(seen.size) { seen.pop }
      done = before.size + 50
      consuming(topic, BY_KEY, concurrency: 5) { messages.each { |message| seen << message.offset } }

      assert_equal 300 - done, take(seen, 300 - done).size
      observe_for(0.3) { assert_empty seen }
    end

    rule "[VP lifecycle hooks] each instance that was used is initialized once and shut down once" do
      topic, used, hooks, born, gate = keyed_topic(40, 4), queue, queue, queue, queue
      noted = {initialized: -> { born << self }, shutdown: -> { hooks << self }}
      running = consuming(topic, BY_KEY, concurrency: 2, hooks: noted) do
        gate.pop
        messages.each { used << self }
      end
      wait_until(10, "two at once") { gate.num_waiting == 2 }
      40.times { gate << true }
      worked = take(used, 40).uniq(&:object_id)
      running.stop
      ended, began = [hooks, born].map { |all| Array.new(all.size) { all.pop } }

      assert_equal 2, worked.size
      assert_equal [worked.map(&:object_id).sort] * 2, [ended, began].map { |all| all.map(&:object_id).sort }
    end
  end
end
