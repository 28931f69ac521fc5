# frozen_string_literal: true

require "json"
require_relative "../failure"

module Penstock
  module CLI
    module Replay
      # A file of the flight recorder, parsed and checked. Immutable.
      class Dump
        VERSION = 1

        # @return [Hash{String => Object}] everything except the lanes: reason, pid, versions, clocks
        attr_reader :facts
        # @return [Array<Hash{String => Object}>]
        attr_reader :lanes

        # @param path [String]
        # @return [Dump]
        # @raise [Usage] the file isn't a dump
        def self.read(path)
          new(JSON.parse(File.read(path)))
        rescue SystemCallError, JSON::ParserError => error
          raise Usage, "#{path} can't be read: #{error.message.scrub.lines.first.to_s.strip[0, 200]}"
        end

        # @param contents [Hash{String => Object}]
        def initialize(contents)
          version = contents["penstock_flight"] if contents.is_a?(Hash)
          raise Usage, "this is not a dump of the flight recorder" unless version
          raise Usage, "the dump has format #{version}, this Penstock reads #{VERSION}: use a newer one" unless version == VERSION

          @facts = contents.except("lanes").freeze
          @lanes = contents.fetch("lanes", []).freeze
        end

        # @param name [String, nil] "orders/3", or a topic; nil: all lanes
        # @return [Array<Hash>]
        # @raise [Usage] no lane has that name
        def select(name)
          found = @lanes.select { |lane| name.nil? || [lane["topic"], "#{lane["topic"]}/#{lane["partition"]}"].include?(name) }
          return found unless found.empty?

          known = @lanes.map { |lane| "#{lane["topic"]}/#{lane["partition"]}" }
          raise Usage, "the dump has no lane #{name}; it has #{known.empty? ? "none" : known.join(", ")}"
        end

        # @param monotonic_ms [Integer] time of an entry
        # @return [String] that time in UTC
        def time(monotonic_ms)
          wall = @facts.fetch("wall_ms") - (@facts.fetch("monotonic_ms") - monotonic_ms)
          Time.at(0, wall, :millisecond).utc.strftime("%H:%M:%S.%L")
        end
      end
    end
  end
end
