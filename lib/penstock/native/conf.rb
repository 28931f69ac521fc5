# frozen_string_literal: true

require_relative "../native"

module Penstock
  module Native
    # Reports what librdkafka knows about a configuration: its table of properties, and everything that is wrong with a Hash of
    # them. Nothing here connects to a broker. Stateless except for the table, which is read once; any thread.
    module Conf
      # One row of librdkafka's table. Its fields are parsed on first use: at boot, for most rows only their existence matters.
      #
      # `type` is :string, :integer, :float, :boolean, :enum, :flags, :list or :callback; `scope` is :consumer,
      # :producer or :both; `level` is :global or :topic; `alias_of` names the property an alias stands for.
      class Property
        TYPES = {
          "string" => :string, "integer" => :integer, "float" => :float, "boolean" => :boolean, "enum value" => :enum,
          "CSV flags" => :flags, "pattern list" => :list, "see dedicated API" => :callback
        }.freeze
        private_constant :TYPES

        attr_reader :name, :scope, :level

        # @param cells [Array<String>] name, scope, range, default, importance, description
        def initialize(cells, level)
          @name = cells[0].strip
          @scope = SCOPES.fetch(cells[1].strip)
          @cells = cells
          @level = level
          freeze
        end

        def range = blank(@cells[2])
        def default = blank(@cells[3])
        def importance = @cells[4].strip.to_sym
        def alias_of = @cells[5][/\A(?:\*\*DEPRECATED\*\* )?Alias for `([^`]+)`/, 1]
        def type = TYPES.fetch(@cells[5][/\*Type: ([^*]+)\*\s*\z/, 1].to_s, :string)
        def description = @cells[5].sub(/\s*<br>\*Type: [^*]+\*\s*\z/, "").sub(/Alias for `[^`]+`: /, "").strip

        private

        def blank(cell)
          cell.strip.then { |text| text unless text.empty? }
        end
      end

      # Left out of the trial: with these properties the handle would connect.
      CONNECTING = %w[bootstrap.servers metadata.broker.list test.mock.num.brokers].freeze
      # A trial finds one problem at a time; if there are more than this, something else is wrong.
      MAX_TRIALS = 10
      SCOPES = {"C" => :consumer, "P" => :producer, "*" => :both}.freeze
      private_constant :CONNECTING, :MAX_TRIALS, :SCOPES

      class << self
        # Returns everything that is wrong with a configuration: first each property by itself, then, if all are fine, what is
        # wrong with their combination (files, limits that must fit each other).
        #
        # @param hash [Hash{String=>String}] librdkafka's properties
        # @param kind [:consumer, :producer, :admin] the handle it is for
        # @return [Array<(String, String)>] property (nil when librdkafka doesn't name one) and message; empty if nothing is
        #   wrong
        def validate(hash, kind)
          problems = hash.filter_map do |name, value|
            message = check(name, value)
            [name, message] if message
          end
          refused = problems.map(&:first)
          problems + trials(hash.except(*CONNECTING, *refused), kind == :consumer)
        end

        # @return [Hash{String=>Property}] every property this librdkafka knows, by name; frozen
        def properties
          @properties ||= parse(table).freeze
        end

        private

        # librdkafka stops at the first invalid property, so each one it reports is left out and the rest are tried again.
        def trials(hash, consumer)
          problems = []
          MAX_TRIALS.times do
            message = trial(hash, consumer) or break
            name = named_in(message, hash)
            problems << [name, message]
            break unless name

            hash = hash.except(name)
          end
          problems.uniq(&:last)
        end

        # The first of the given properties that the message names. A message may use an alias of the name that the user wrote,
        # or the name of which the user wrote an alias.
        def named_in(message, hash)
          hash.keys.filter_map do |name|
            place = synonyms(name).filter_map { |word| place_of(word, message) }.min
            [place, name] if place
          end.min&.last
        end

        def synonyms(name)
          target = properties[name]&.alias_of || name
          [target, *properties.each_value.filter_map { |property| property.name if property.alias_of == target }]
        end

        def place_of(word, message)
          message =~ /(?<![\w.])#{Regexp.escape(word)}(?![\w.]*\w)/
        end

        def parse(text)
          level = :global
          text.each_line.with_object({}) do |line, found|
            level = :topic if line.start_with?("## Topic")
            property = row(line, level)
            found[property.name] ||= property if property
          end
        end

        # Only the last cell, the description, may contain " | ".
        def row(line, level)
          cells = line.split(" | ", 6)
          Property.new(cells, level) unless cells[5].nil? || cells[0].start_with?("Property ")
        end
      end
    end
  end
end
