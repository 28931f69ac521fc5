# frozen_string_literal: true

require_relative "../point_in_time"

module Penstock
  module CLI
    module Dead
      # Selects the dead letters of a command: those that match all given options. A value built from the command's
      # options.
      class Filter
        NAMES = %i[topic error since until partition offset key].freeze

        # Declares the options that {new} reads.
        #
        # @param parser [Arguments]
        def self.define(parser)
          parser.value(:topic, "--topic NAME", "that came from this topic")
          parser.value(:error, "--error CLASS", "that failed with this error class; the last part of its name is enough")
          parser.value(:since, "--since TIME", "that failed since then: 30s, 15m, 2h, 7d ago, or a time")
          parser.value(:until, "--until TIME", "that failed before")
          parser.number(:partition, "--partition N", "in this partition of the dead letter topic", from: 0)
          parser.number(:offset, "--offset N", "at this offset of it", from: 0)
          parser.value(:key, "--key KEY", "with this key")
        end

        # @param options [Hash]
        # @param now_ms [Integer] ms since 1970
        # @raise [ArgumentError] an invalid time
        def initialize(options, now_ms)
          @options = options
          @since = time(options[:since], now_ms)
          @until = time(options[:until], now_ms)
        end

        # @return [Boolean] whether no option was given
        def empty? = (@options.keys & NAMES).empty?

        # @return [Integer, nil]
        def partition = @options[:partition]

        # @param letter [Letter]
        # @return [Boolean]
        def fits?(letter)
          place?(letter) && source?(letter) && time?(letter) && (@options[:key].nil? || letter.record.raw_key == @options[:key].b)
        end

        private

        def place?(letter)
          (partition.nil? || letter.partition == partition) && (@options[:offset].nil? || letter.offset == @options[:offset])
        end

        def source?(letter)
          topic, error = @options.values_at(:topic, :error)
          (topic.nil? || letter.source&.topic&.b == topic.b) && (error.nil? || error?(letter.source&.error_class.to_s, error))
        end

        # Compared as bytes: a header need not be UTF-8.
        def error?(name, wanted) = name.b == wanted.b || name.b.end_with?("::#{wanted}".b)

        def time?(letter)
          (@since.nil? || letter.failed_at >= @since) && (@until.nil? || letter.failed_at < @until)
        end

        def time(text, now_ms) = text && PointInTime.parse(text, now_ms)
      end
    end
  end
end
