# frozen_string_literal: true

require_relative "../config/schema"
require_relative "delay_topics"
require_relative "features"
require_relative "kafka_defaults"
require_relative "macro"

module Penstock
  module Routing
    # Generates docs/configuration.md from the schema of settings and the list of features, so that the page always
    # matches the code.
    class ConfigurationPage
      INTRODUCTION = <<~TEXT
        # Configuration

        This page is generated from `lib/penstock/config/schema.rb`, `lib/penstock/routing/features.rb` and
        `lib/penstock/routing/macro.rb` by `rake docs:configuration`.

        ```ruby
        class PenstockApp < Penstock::App
          setup do |config|
            config.client_id = "shop"
            config.kafka = {"bootstrap.servers": "127.0.0.1:9092"}
            config.pause.timeout = 500
          end

          routes.draw do
            topic :orders do
              consumer OrdersConsumer
              max_messages 500
            end
          end
        end
        ```

        All mistakes are reported at once, before anything connects. Durations are Integer milliseconds; objects that can
        convert themselves to milliseconds, such as ActiveSupport's durations, are converted.
      TEXT

      KAFKA = <<~TEXT
        ## `config.kafka`

        librdkafka's properties, with Symbols as keys. One Hash serves consumers, producer and admin: each gets the
        properties it knows. librdkafka itself checks names and values. These properties are refused:
        `group.id` (use `config.group_id`, or the name of a `consumer_group`), `enable.auto.commit` and
        `enable.auto.offset.store` (Penstock commits offsets) and, with `group.protocol: "consumer"` (KIP-848), the ones that
        the broker then sets: `partition.assignment.strategy`, `session.timeout.ms`, `heartbeat.interval.ms`.

        Penstock sets these defaults; what you set yourself takes precedence:

        | Property | Of | Penstock | librdkafka | Reason |
        | --- | --- | --- | --- | --- |
        #{KafkaDefaults.rows.join("\n")}

        Producers are [idempotent](producing.md#idempotent-by-default). Left as librdkafka has them, and worth a look:
        `session.timeout.ms` 45,000 (so long the partitions of a killed process belong to it; 10,000 finds it sooner, and expels a
        process that a busy machine stops for as long), `linger.ms` 5, `compression.codec` none (lz4 or zstd save
        network and disk where records are larger than some hundred bytes, and cost CPU time), `acks` all.

        ## Memory for prefetched records

        `prefetch_budget_bytes` is divided by the number of partitions a member can get (64 until it is known); the result is
        the share of one partition, at least 256 KiB. `fetch.message.max.bytes` is this share, at most 1 MiB;
        `queued.max.messages.kbytes` is the share; `queued.min.messages` is 10,000. librdkafka's limits count values only and
        only prevent the next fetch, so the worst case is: partitions × (n × (value + key + headers + 330 bytes)),
        where n is the lower of 10,000 and share ÷ value, plus one fetch; and one response in flight per broker.

        ## Connections

        Topics of a consumer group share one connection unless their `kafka` differs or they are in a `subscription_group`
        of their own. Limits such as `max_messages` apply to each partition and need no second connection. If topics of one
        connection differ in `initial_offset`, each begins at its own; an offset that is no longer in the log is reset
        according to the first topic's.

        ## Patterns

        `pattern(/audit\\..*/) { consumer AuditConsumer }` stands for every topic whose name matches from its beginning, also
        topics that are created later. A topic with a route of its own uses that route. Ruby, the C library and, under
        KIP-848, the broker read the expression: syntax that they don't share is refused, with what to write instead.
      TEXT

      MACROS = <<~TEXT
        `routes.draw`, consumer groups and subscription groups take these verbs. Each draws topics; in its block are the options of
        topics.
      TEXT

      # @param features [Array<Feature>]
      # @param macros [Array<Macro>]
      def initialize(features = Features.core, macros = Macro.core)
        @features = features
        @macros = macros
      end

      # @return [String] Markdown
      def to_s
        [INTRODUCTION, settings, options("Options of topics", @features), options("Options of groups", Features.of_groups),
          options("Options of all routes", [DelayTopics.feature]), macros, KAFKA].join("\n")
      end

      private

      def settings
        rows = Config::Schema::SETTINGS.map do |setting|
          "| `#{setting.path}` | #{setting.type} | `#{setting.default.inspect}` | #{setting.description} |"
        end
        table("Settings", ["Setting", "Must be", "Default", "Meaning"], rows)
      end

      def options(title, features)
        rows = features.map do |feature|
          "| `#{feature.verbs.join("`, `")}` | #{arguments_of(feature)} | #{feature.description} |"
        end
        table(title, %w[Option Takes Meaning], rows)
      end

      def macros
        rows = @macros.map { |macro| "| `#{macro.verb}` | #{arguments_of(macro)} | #{macro.description} |" }
        table("Verbs that draw topics", %w[Verb Takes Meaning], rows).sub("\n\n") { "\n\n#{MACROS}\n" }
      end

      def arguments_of(feature)
        return feature.options.each_value.first.type if feature.options.keys == [:value]

        feature.options.map { |name, option| "`#{name}:` #{option.type}" }.join("; ")
      end

      def table(title, columns, rows)
        ["## #{title}", "", "| #{columns.join(" | ")} |", "|#{" --- |" * columns.size}", *rows, ""].join("\n")
      end
    end
  end
end
