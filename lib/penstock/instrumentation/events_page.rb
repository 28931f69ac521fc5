# frozen_string_literal: true

require_relative "catalogue"

module Penstock
  module Instrumentation
    # Generates docs/events.md from the catalogue, so that the page always matches the code.
    class EventsPage
      INTRODUCTION = <<~TEXT
        # Events

        This page is generated from the catalogue in `lib/penstock/instrumentation/events` by `rake docs:events`.

        ```ruby
        Penstock.monitor.subscribe("consumer.consumed") { |event| puts event[:messages_count] }
        Penstock.monitor.subscribe(MyListener.new)   # calls its on_consumer_consumed(event), if it has one
        ```

        The list is closed: publishing or subscribing to another name raises `Penstock::UnknownEventError`. Add your own with
        `monitor.register_event("billing.charged", :amount)`. An error in a listener becomes an `error.occurred`.
        Every payload may have `caller`. A timed event is published when its work has ended, with `time` in milliseconds (Float).
        Keys in brackets aren't always present.

        Producers publish [their events](#producer) on a monitor of their own: subscribe on `PenstockApp.producer.monitor` to those of
        the application's. `Penstock.monitor` gets only `error.occurred` of it.
      TEXT

      # @param catalogue [Catalogue]
      def initialize(catalogue = Catalogue.standard)
        @catalogue = catalogue
      end

      # @return [String] Markdown
      def to_s
        areas = @catalogue.entries.group_by(&:area).map { |title, entries| area(title, entries) }
        [INTRODUCTION, *areas, error_types, keys].join("\n")
      end

      private

      def area(title, entries)
        rows = entries.map { |entry| "| `#{entry.name}` | #{entry.description} | #{payload(entry)} |" }
        table(title, %w[Event When Payload], rows)
      end

      def payload(entry)
        always = entry.keys.map { |key| "`#{key}`" }
        always << "`time`" if entry.timed
        sometimes = entry.optional.map { |key| "[`#{key}`]" }
        (always + sometimes).join(", ")
      end

      def error_types
        rows = Events::Errors::TYPES.map { |type, meaning| "| `#{type}` | #{meaning} |" }
        table("Types of errors", %w[Type Meaning], rows)
      end

      def keys
        rows = Events::Keys::DESCRIPTIONS.sort.map { |key, meaning| "| `#{key}` | #{meaning} |" }
        table("Keys of payloads", %w[Key Meaning], rows)
      end

      def table(title, columns, rows)
        ["## #{title}", "", "| #{columns.join(" | ")} |", "|#{" --- |" * columns.size}", *rows, ""].join("\n")
      end
    end
  end
end
