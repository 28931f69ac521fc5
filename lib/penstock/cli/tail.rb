# frozen_string_literal: true

require "logger"
require "securerandom"
require_relative "../framework"
require_relative "../printable"
require_relative "record_fields"

module Penstock
  module CLI
    # The application of `penstock tail`: one topic, one thread, a printer instead of a user's consumer. Errors are
    # lines on the error stream; a record that can't be printed ends the command, because it would otherwise be retried
    # forever.
    class Tail
      # @param topic [String]
      # @param kafka [Hash] librdkafka's settings
      # @param out [#puts] for messages
      # @param err [IO] for errors
      # @param from [String] "earliest" or "latest"
      # @param limit [Integer, nil] ends after this number of messages
      # @param json [Boolean]
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      def initialize(topic:, kafka:, out:, from:, err: $stderr, limit: nil, json: false, token_provider: nil)
        @topic = topic
        @kafka = kafka
        @out = out
        @err = err
        @from = from
        @left = limit
        @json = json
        @token_provider = token_provider
      end

      # Prints until it is stopped.
      #
      # @return [Integer] exit code
      # @raise [Errno::EPIPE] nobody reads the output any more
      def run
        code = application.run!
        raise @error if @error

        code
      end

      # Called on the worker thread.
      #
      # @param messages [Enumerable<Message>]
      # @return [void]
      def print(messages)
        messages.each do |message|
          break if @left&.zero? || @error

          @out.puts(@json ? Printable.json(to_h(message)) : line(message))
          @left -= 1 if @left
        end
        @out.flush
        application.stop! if @left&.zero?
      rescue => error # the output is closed, or a defect
        @error ||= error
        application.stop!
      end

      private

      def application
        @application ||= Penstock::Application.new("tail").tap do |application|
          configure(application)
          draw(application)
        end
      end

      def configure(application)
        group = "penstock-tail-#{SecureRandom.hex(6)}"
        application.setup do |config|
          config.client_id = "penstock-tail"
          config.group_id = group
          config.kafka = @kafka
          config.initial_offset = @from
          config.concurrency = 1
          config.oauth.token_provider_listener = @token_provider
          config.logger = complaints
        end
      end

      # Logs to the error stream, because the output is for messages.
      def complaints
        Logger.new(@err, level: Logger::WARN, formatter: ->(_level, _time, _name, text) { "penstock: #{text}\n" })
      end

      def draw(application)
        topic_name = @topic
        printer = consumer_class
        application.routing.draw do
          topic topic_name do
            consumer printer
            manual_offset_management true
            deserializer ->(message) { message.raw_payload }
          end
        end
      end

      # A class of its own for this run, so that two tails in one process don't share a printer.
      def consumer_class
        tail = self
        Class.new(Penstock::BaseConsumer) do
          define_method(:consume) { tail.print(messages) }
        end
      end

      def line(message)
        place = "#{message.partition}@#{message.offset}"
        key = message.raw_key ? " #{Printable.line(message.raw_key, nil)}:" : ""
        "#{place}#{key} #{message.raw_payload.nil? ? "(no payload)" : Printable.line(message.raw_payload, nil)}"
      end

      def to_h(message)
        {topic: message.topic, partition: message.partition, offset: message.offset, timestamp: message.timestamp.to_s,
         **RecordFields.of(message)}
      end
    end
  end
end
