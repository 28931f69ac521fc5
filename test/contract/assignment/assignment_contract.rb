# frozen_string_literal: true

require "support/consuming"

module Penstock
  # Who reads which partitions, on any broker. Whoever includes it says `kafka` (settings for the broker).
  module AssignmentContract
    def self.rule(name, &body) = RULES << [name, body]
    RULES = []
    def self.add_to(base) = RULES.each { |name, body| base.test(name, &body) }

    # Each record's partition and payload.
    def recorder(seen)
      Class.new(BaseConsumer) do
        define_method(:consume) { messages.each { |message| seen << [message.partition, message.raw_payload] } }
      end
    end

    # An application with these routes instead of one topic; the block is evaluated by `routes.redraw`.
    # @param listen [Hash{String => Thread::Queue}] events and where they go
    def run_routes(listen: {}, config: ->(_config) {}, **settings, &routes)
      application = build("unused", Class.new(BaseConsumer), ->(_) { active false }, config, settings)
      application.routing.redraw(&routes)
      listen.each { |name, events| application.monitor.subscribe(name) { |event| events << event } }
      yield_running(application)
    end

    def members
      admin = Admin.new(kafka: kafka)
      info = admin.group_info(group)
      info ? info[:members].size : 0
    rescue KafkaError
      0
    ensure
      admin&.close
    end

    # A topic with one record a partition: its number.
    def numbered_topic(partitions)
      unique("topic").tap do |name|
        create_topic(name, partitions)
        partitions.times { |partition| produce(name, [partition.to_s], partition: partition) }
      end
    end

    rule "[direct assign] true reads all partitions and no group is joined; what is done is committed to the group" do
      topic, seen = numbered_topic(3), queue
      recorder = recorder(seen)
      running = run_routes { topic(topic) { [consumer(recorder), assign(true)] } }

      assert_equal [[0, "0"], [1, "1"], [2, "2"]], take(seen, 3).sort
      assert_equal 0, members
      assert_equal 0, running.stop
      assert_equal [1, 1, 1], [0, 1, 2].map { |partition| committed(topic, partition) }
    end

    rule "[direct assign] only the partitions that are named are read, from where the group stood" do
      topic, seen = numbered_topic(3), queue
      recorder = recorder(seen)
      draw = ->(numbers) { run_routes { topic(topic) { [consumer(recorder), assign(*numbers)] } } }
      running = draw.call([0, 2])
      assert_equal [[0, "0"], [2, "2"]], take(seen, 2).sort
      running.stop
      3.times { |partition| produce(topic, ["next"], partition: partition) }
      draw.call([1..2])

      assert_equal [[1, "1"], [1, "next"], [2, "next"]], take(seen, 3).sort
      observe_for(0.3)
      assert_empty seen
    end

    rule "a partition that assign names and that doesn't exist is told once, and the others are read" do
      topic, seen, told = numbered_topic(1), queue, queue
      recorder = recorder(seen)
      run_routes(listen: {"connection.partition_missing" => told}) { topic(topic) { [consumer(recorder), assign(0, 1)] } }

      assert_equal [[0, "0"]], take(seen, 1)
      assert_equal [[topic, 1, 1]], take(told, 1).map { |event| event.payload.values_at(:topic, :partition, :partitions) }
      observe_for(1.5)
      assert_empty told
    end
  end
end
