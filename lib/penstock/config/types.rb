# frozen_string_literal: true

module Penstock
  module Config
    # The types of settings. Each has `coerce(value)`, which returns the typed value or {Types.invalid}, and `to_s`,
    # which completes "must be …". Immutable, shared by settings and routing options.
    module Types
      INVALID = Object.new.freeze

      # @return [Boolean] whether a result of `coerce` means that the value is invalid
      def self.invalid?(value)
        INVALID.equal?(value)
      end

      # Whole numbers within bounds.
      class Whole
        def initialize(min: nil, max: nil)
          @min = min
          @max = max
          freeze
        end

        def coerce(value)
          return INVALID unless ::Integer === value
          return INVALID if (@min && value < @min) || (@max && value > @max)

          value
        end

        def to_s
          "an Integer#{Types.bounds(@min, @max)}"
        end
      end

      # Milliseconds: an Integer, or an object with `in_milliseconds`, such as `5.seconds` with ActiveSupport.
      class Milliseconds
        def initialize(min: 0, max: nil)
          @bounds = Whole.new(min: min, max: max)
          @min = min
          @max = max
          freeze
        end

        def coerce(value)
          @bounds.coerce(milliseconds(value))
        end

        def to_s
          "milliseconds, an Integer#{Types.bounds(@min, @max)}"
        end

        private

        # Integers first: ActiveSupport adds `in_milliseconds` to them too, which treats them as seconds. `===` because
        # ActiveSupport's durations return true for `is_a?(Integer)`.
        def milliseconds(value)
          return value if ::Integer === value || ::Numeric === value
          return value.in_milliseconds.to_i if value.respond_to?(:in_milliseconds)
          return (value.in_seconds * 1_000).to_i if value.respond_to?(:in_seconds)

          value
        end
      end

      # true or false, and no other truthy or falsy value.
      class Flag
        def coerce(value)
          (value == true || value == false) ? value : INVALID
        end

        def to_s
          "true or false"
        end
      end

      # One of a few words, as String or Symbol.
      class Word
        def initialize(*words)
          @words = words.map(&:to_s).freeze
          freeze
        end

        def coerce(value)
          @words.find { |word| (value.is_a?(Symbol) || value.is_a?(String)) ? word == value.to_s : false } || INVALID
        end

        def to_s
          @words.map { |word| %("#{word}") }.join(" or ")
        end
      end

      # A name that Kafka accepts for topics.
      class Name
        LEGAL = /\A(?!\.\.?\z)[A-Za-z0-9._-]{1,249}\z/

        def coerce(value)
          return INVALID unless value.is_a?(String) || value.is_a?(Symbol)

          LEGAL.match?(value.to_s) ? value.to_s.dup.freeze : INVALID
        end

        def to_s
          "a name of 1 to 249 letters, digits, dots, dashes and underscores (but not . or ..)"
        end
      end

      # An address to listen on: an IP address, also IPv6, or a host name.
      class Host
        LEGAL = /\A[A-Za-z0-9._:%-]{1,253}\z/

        def coerce(value)
          (value.is_a?(String) && LEGAL.match?(value)) ? value.dup.freeze : INVALID
        end

        def to_s = "an IP address or a host name"
      end

      # A folder that files can be written to.
      class Folder
        def coerce(value)
          path = value.respond_to?(:to_path) ? value.to_path : value
          (path.is_a?(String) && File.directory?(path) && File.writable?(path)) ? path.dup.freeze : INVALID
        end

        def to_s = "a folder that exists and can be written to"
      end

      # An object that has certain methods; also nil and false if it is optional.
      class Responding
        def initialize(*methods, optional: true)
          @methods = methods.freeze
          @optional = optional
          freeze
        end

        def coerce(value)
          return @optional ? nil : INVALID if value.nil? || value == false

          (@methods.all? { |method| value.respond_to?(method) }) ? value : INVALID
        end

        def to_s
          "an object with the #{(@methods.size > 1) ? "methods" : "method"} #{@methods.join(", ")}"
        end
      end

      # A Hash whose keys are checked elsewhere.
      class Map
        def coerce(value)
          value.is_a?(Hash) ? value : INVALID
        end

        def to_s
          "a Hash"
        end
      end

      # An Array of exception classes.
      class Exceptions
        def coerce(value)
          list = Array(value)
          (list.all? { |entry| entry.is_a?(Class) && entry <= Exception }) ? list.dup.freeze : INVALID
        end

        def to_s
          "an Array of exception classes"
        end
      end

      # An Array of Symbols.
      class Symbols
        def coerce(value)
          (value.is_a?(Array) && value.all?(Symbol)) ? value.dup.freeze : INVALID
        end

        def to_s = "an Array of Symbols"
      end

      # Any of several types, tried in order; also nil if `nil_allowed`.
      class Either
        def initialize(*types, nil_allowed: false)
          @types = types.freeze
          @nil_allowed = nil_allowed
          freeze
        end

        def coerce(value)
          return nil if value.nil? && @nil_allowed

          @types.each do |type|
            coerced = type.coerce(value)
            return coerced unless Types.invalid?(coerced)
          end
          INVALID
        end

        def to_s
          [*@types, *("nil" if @nil_allowed)].join(", or ")
        end
      end

      # @return [String] " of at least 1", " from -3 to 3"
      def self.bounds(min, max)
        return " from #{min} to #{max}" if min && max
        return " of at least #{min}" if min

        max ? " of at most #{max}" : ""
      end
    end
  end
end
