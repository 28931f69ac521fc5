# frozen_string_literal: true

module Penstock
  module TestSupport
    # Reads Prometheus' text format 0.0.4 and raises at everything that it doesn't allow: more than Prometheus itself refuses.
    class PrometheusTextParser
      NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*/
      VALUE = /[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN/
      PAIR = /\G([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,(?=[a-zA-Z_])|\z)/
      SERIES = /\A(#{NAME})(?:\{(.+)\})? (#{VALUE})\z/
      SUFFIXES = %w[_bucket _sum _count].freeze
      UNESCAPED = {"\\\\" => "\\", "\\n" => "\n", "\\\"" => "\""}.freeze
      private_constant :PAIR, :SERIES, :SUFFIXES, :UNESCAPED

      # One family: its type, its help, and its values by `[name, {label => value}]`.
      Family = Struct.new(:name, :type, :help, :values)

      # @param text [String]
      # @return [Hash{String => Family}]
      # @raise [RuntimeError] the text isn't valid
      def self.parse(text) = new.tap { |parser| parser.read(text) }.families

      attr_reader :families

      def initialize
        @families = {}
      end

      def read(text)
        raise "not UTF-8" unless text.dup.force_encoding(Encoding::UTF_8).valid_encoding?
        raise "the last line doesn't end" unless text.empty? || text.end_with?("\n")
        text.split("\n", -1)[0...-1].each { |line| line.start_with?("#") ? comment(line) : series(line) }
        @families.each_value { |family| complete(family) }
      end

      private

      def comment(line)
        return help($1, $2) if line =~ /\A# HELP (#{NAME}) ((?:[^\\]|\\\\|\\n)+)\z/o
        line =~ /\A# TYPE (#{NAME}) (counter|gauge|histogram)\z/o or raise "not a comment: #{line}"
        raise "TYPE without HELP before it: #{line}" unless @family&.name == $1 && @family.type.nil?
        @family.type = $2
      end

      def help(name, text)
        raise "a second block of #{name}" if @families.key?(name)
        @family = @families[name] = Family.new(name, nil, text, {})
      end

      def series(line)
        name, labels, value = line.match(SERIES)&.captures
        raise "not a series: #{line}" unless name
        raise "#{name} stands in the block of #{@family&.name}" unless @family&.type && allowed.include?(name)
        key = [name, pairs(labels.to_s)]
        raise "twice: #{line}" if @family.values.key?(key)
        @family.values[key] = number(value)
      end

      def allowed = (@family.type == "histogram") ? SUFFIXES.map { |suffix| @family.name + suffix } : [@family.name]

      def pairs(text)
        found = {}
        at = 0
        while at < text.length
          match = text.match(PAIR, at) or raise "not a label at #{at}: #{text}"
          raise "the label #{match[1]} twice: #{text}" if found.key?(match[1])
          found[match[1]] = match[2].gsub(/\\[\\n"]/, UNESCAPED)
          at = match.end(0)
        end
        found
      end

      def number(text)
        case text
        when /Inf\z/ then text.start_with?("-") ? -Float::INFINITY : Float::INFINITY
        when "NaN" then Float::NAN
        else Float(text)
        end
      end

      def complete(family)
        raise "#{family.name} has no TYPE" unless family.type
        raise "#{family.name} has no series" if family.values.empty?
        histogram(family) if family.type == "histogram"
        family.values.each { |key, value| raise "#{key}: a counter of #{value}" if family.type == "counter" && !(value >= 0) }
      end

      # Per series: ascending limits, counts that don't decrease, +Inf last and equal to the count, and a sum.
      def histogram(family)
        groups = family.values.group_by { |(_name, labels), _value| labels.except("le") }
        groups.each do |labels, rows|
          of = ->(suffix) { rows.select { |(name, _), _| name == family.name + suffix } }
          buckets = of.call("_bucket").map { |(_name, all), value| [number(all.fetch("le")), value] }
          total = of.call("_count")
          raise "#{family.name} #{labels}: limits don't ascend" unless buckets == buckets.sort && buckets.map(&:first).uniq!.nil?
          raise "#{family.name} #{labels}: counts decrease" unless buckets.map(&:last) == buckets.map(&:last).sort
          raise "#{family.name} #{labels}: no +Inf" unless buckets.last&.first == Float::INFINITY
          raise "#{family.name} #{labels}: one sum and one count" unless total.size == 1 && of.call("_sum").size == 1
          raise "#{family.name} #{labels}: +Inf isn't the count" unless total[0][1] == buckets.last.last
        end
      end
    end
  end
end
