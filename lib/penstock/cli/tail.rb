# frozen_string_literal: true

require "json"
require "logger"
require "securerandom"
require_relative "../../penstock"

module Penstock
  module CLI
    # The application behind `penstock tail`: one topic, one thread, a printer instead of a consumer of the user's.
    class Tail
      # @param topic [String]
      # @param kafka [Hash] librdkafka's settings
      # @param out [#puts]
      # @param from [String] "earliest" or "latest"
      # @param limit [Integer, nil] ends after so many messages
      # @param json [Boolean]
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      def initialize(topic:, kafka:, out:, from:, limit: nil, json: false, token_provider: nil)
        @topic = topic
        @kafka = kafka
        @out = out
        @from = from
        @left = limit
        @json = json
        @token_provider = token_provider
      end

      # Prints until told to stop.
      #
      # @return [Integer] exit code
      def run
        application.run!
      end

      # Called on the worker thread.
      #
      # @param messages [Enumerable<Message>]
      # @return [void]
      def print(messages)
        messages.each do |message|
          break if @left&.zero?

          @out.puts(@json ? JSON.generate(to_h(message)) : line(message))
          @left -= 1 if @left
        end
        @out.flush
        application.stop! if @left&.zero?
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
          config.logger = Logger.new(nil) # the output is for messages
        end
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
        key = message.raw_key ? " #{text(message.raw_key)}:" : ""
        "#{place}#{key} #{message.raw_payload.nil? ? "(no payload)" : text(message.raw_payload)}"
      end

      def to_h(message)
        {
          topic: message.topic, partition: message.partition, offset: message.offset,
          timestamp: message.timestamp.to_s, key: text(message.raw_key), headers: message.headers,
          payload: text(message.raw_payload)
        }
      end

      # Bytes that are no text are shown as escapes, so no payload can drive the terminal.
      def text(bytes)
        return unless bytes

        text = bytes.dup.force_encoding(Encoding::UTF_8)
        text = bytes.inspect[1..-2] unless text.valid_encoding?
        text.gsub(/[[:cntrl:]&&[^\t]]/) { |character| character.inspect[1..-2] }
      end
    end
  end
end
