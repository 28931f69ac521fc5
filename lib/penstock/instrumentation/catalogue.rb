# frozen_string_literal: true

require_relative "../errors"
require_relative "../nearest"
require_relative "../compat/karafka/events"
require_relative "events/keys"
require_relative "events/active_job"
require_relative "events/application"
require_relative "events/connection"
require_relative "events/admission"
require_relative "events/consumer"
require_relative "events/rebalance"
require_relative "events/producer"
require_relative "events/errors"
require_relative "events/execution"
require_relative "events/failures"
require_relative "events/outbox"
require_relative "events/swarm"

module Penstock
  module Instrumentation
    # The list of all events: name, meaning, payload keys. It is closed, so that a misspelt name is an error where it is
    # written, instead of a listener that is never called. docs/events.md is generated from it.
    #
    # Filled at boot by one thread, then only read.
    class Catalogue
      # One event. `keys` are always in the payload, `optional` ones sometimes; a timed event also has `:time` (Float, ms).
      Entry = Struct.new(:name, :area, :description, :keys, :optional, :timed, keyword_init: true) do
        # @return [Array<Symbol>] every key a payload of this event may have
        def allowed
          @allowed ||= [*keys, *optional, *(timed ? [:time] : []), :caller].freeze
        end

        # @param present [Array<Symbol>] keys of a payload
        # @return [String, nil] in which way they aren't the declared ones
        def difference(present)
          missing = [*keys, *(timed ? [:time] : [])] - present
          unknown = present - allowed
          "the payload has no #{missing.inspect} and has undeclared #{unknown.inspect}" if missing.any? || unknown.any?
        end
      end

      AREAS = [Events::Application, Events::Connection, Events::Consumer, Events::Admission, Events::Failures,
        Events::Execution, Events::Rebalance, Events::Swarm, Events::Producer, Events::Outbox, Events::ActiveJob,
        Events::Errors].freeze

      # @return [Catalogue] a new catalogue with all of Penstock's events
      def self.standard
        new.tap do |catalogue|
          AREAS.each do |area|
            catalogue.area = area::TITLE
            area.declare(catalogue)
          end
        end
      end

      def initialize
        @entries = {}
        @area = "Custom"
      end

      # @param title [String] the area of the events that are declared after this call
      attr_writer :area

      # Declares an event.
      #
      # @param name [String] dotted name
      # @param description [String] one or two sentences: when it happens
      # @param keys [Array<Symbol>] keys that are always in the payload
      # @param optional [Array<Symbol>] keys that are sometimes in the payload
      # @param timed [Boolean] published at the end of a block, with `:time`
      def event(name, description, *keys, optional: [], timed: false)
        @entries[name.to_s.freeze] = Entry.new(name: name.to_s.freeze, area: @area, description: description,
          keys: keys.freeze, optional: optional.freeze, timed: timed)
      end

      # @return [Entry]
      # @raise [UnknownEventError] when there is no such event
      def fetch(name)
        @entries[name] || @entries[name.to_s] || unknown!(name)
      end

      # @return [Array<String>]
      def names
        @entries.keys
      end

      # @return [Array<Entry>]
      def entries
        @entries.values
      end

      def include?(name)
        @entries.key?(name.to_s)
      end

      private

      def unknown!(name)
        way_out = Compat::Karafka::Events.hint(name) || Nearest.hint(name, names) || "docs/events.md lists all events"
        raise UnknownEventError, "there is no event #{name.to_s.inspect}. #{way_out}"
      end
    end
  end
end
