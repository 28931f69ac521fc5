# frozen_string_literal: true

require "json"
require "penstock/producer"

module Penstock
  module TestSupport
    module FaultRuns
      # Unusual records, what becomes of them on their way through a consumer and into dead letters, and records of
      # every size. Made for a {Scene}.
      class OddRecords
        VALUES = [nil, "", "x", "\0", "\xff\xfe\x00\x80".b, "ä€😀", "\u202e\e[31m\r\n\t", "a" * 300_000, "null", "{}",
          "\xef\xbb\xbf[]", "%s%n1{{x}}", "\x28\xb5\x2f\xfd\x00\x01".b].freeze
        HEADERS = [{}, {"" => ""}, {"a" => nil}, {"a" => ""}, {"a" => ["1", "2", "1"]}, {"ü" => "\xff".b},
          {"big" => "h" * 60_000}, {"source_topic" => "mine", "penstock_reason" => "mine"},
          (1..100).to_h { |n| ["n#{n}", n.to_s] }].freeze
        KEYS = [nil, "k", "\xff\x00".b, "k" * 10_000, "\u0000", " "].freeze

        # The outcomes for records of certain sizes, where the topic accepts 100,000 bytes and the producer 1,000,000.
        SIZES = {1_000 => "delivered", 90_000 => "delivered", 150_000 => "msg_size_too_large", 990_000 => "msg_size_too_large",
                 1_100_000 => "MessageInvalidError", 50_000_000 => "MessageInvalidError"}.freeze

        class << self
          def producer(servers, **kafka)
            made = Producer.new do |config|
              config.kafka = {"bootstrap.servers": servers, "enable.idempotence": true, **kafka}
              config.logger = Logger.new(nil)
            end
            yield made
          ensure
            made&.close
          end

          # @return [Integer] how many
          def produce_garbage(bootstrap_servers:, topic:, random:)
            texts = Array.new(10) { random.bytes(200) } + [nil, "", "#{"[" * 200_000}#{"]" * 200_000}", "{\"a\":" * 50_000,
              "\x1f\x8b\x08\x00".b + random.bytes(300), "\x28\xb5\x2f\xfd".b + random.bytes(300), "uid key none ok 00000000 .."]
            producer(bootstrap_servers) do |one|
              one.produce_many_sync(texts.map.with_index { |text, index|
                {topic: topic, payload: text, key: "k#{index}", partition: index % 6}
              })
            end
            texts.size
          end

          # @return [Hash{Integer => String}] the outcomes for records of these sizes
          def produce_sizes(run, topic)
            producer(run.bootstrap_servers) do |one|
              SIZES.keys.to_h { |bytes| [bytes, outcome(one, topic, bytes)] }
            end
          end

          private

          # Values that don't compress.
          def outcome(producer, topic, bytes)
            record = Record.make("size.#{bytes}", "k", bytes, bytes: 0)
            record[:payload] += Random.new(bytes).bytes(bytes - record[:payload].bytesize).unpack1("H*")[0, bytes]
            producer.produce_sync(topic: topic, **record).outcome.name
          rescue MessageInvalidError
            "MessageInvalidError"
          rescue ProduceError => error
            error.cause.respond_to?(:code) ? error.cause.code.name : error.class.name
          end
        end

        # @param scene [Scene]
        def initialize(scene)
          @scene = scene
          @run = scene.run
          @topics = %w[source out dead].to_h { |name| [name, @run.topic("odd-#{name}", partitions: 2)] }
        end

        # Every third record fails, and is dead-lettered; the others are forwarded unchanged.
        # @return [Application]
        def consumers
          @scene.consumers("odd", topic: @topics["source"], rate: 0, work: "pipe", raw: true, mode: "message",
            out: @topics["out"], dead: @topics["dead"], max_retries: 0)
        end

        def count = records.size

        def produce
          self.class.producer(@run.bootstrap_servers, "message.max.bytes": 1_000_000) do |one|
            records.each_slice(20) { |slice| one.produce_many_sync(slice) }
          end
        end

        def arrived? = %w[out dead].sum { |name| read(name).size } >= count

        # Of a letter's headers those that name its origin are ours, even if the record had headers with these names.
        PROVENANCE = /\A(?:source_|penstock_)/

        # @return [String, nil]
        def differences
          passed, failed = read("source").partition { |row| row[:offset] % 3 > 0 }
          wrong = compare("copies", passed, read("out")) { |copy, row| copy[:headers] == row[:headers] } +
            compare("letters", failed, read("dead")) { |letter, row| own(letter) == own(row) }
          wrong.first(5).join("; ") unless wrong.empty?
        end

        private

        def records
          @records ||= VALUES.product(HEADERS).map.with_index do |(value, headers), index|
            {topic: @topics["source"], payload: value, key: KEYS[index % KEYS.size], headers: headers,
             partition: index % 2}.compact
              .then { |message|
              value.nil? ? message.merge(payload: nil) : message
            }
          end
        end

        def read(name)
          File.foreach(@run.read(@topics[name]), chomp: true).map do |line|
            partition, offset, _time, key, value, headers = line.split("\t", -1)
            {partition: Integer(partition), offset: Integer(offset), key: key, value: value, headers: headers.to_s.split(";")}
          end
        end

        def own(row) = row[:headers].reject { |pair| pair.split(",").first.delete_prefix("=").unpack1("m").match?(PROVENANCE) }

        # The output of the reader is compared in its written form: base64, with null distinct from empty.
        def compare(name, rows, found)
          left = found.dup
          missing = rows.reject do |row|
            at = left.index { |one| one.values_at(:key, :value) == row.values_at(:key, :value) && yield(one, row) }
            left.delete_at(at) if at
          end
          missing.map { |row| "no #{name} of #{row.values_at(:partition, :offset).join("/")} key #{row[:key][0, 20]}" } +
            left.map { |row| "strange #{name}: #{row[:key][0, 20]} #{row[:value][0, 30]} #{row[:headers].join[0, 60]}" }
        end
      end
    end
  end
end
