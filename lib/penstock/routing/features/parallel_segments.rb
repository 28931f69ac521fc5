# frozen_string_literal: true

require "zlib"
require_relative "../../config/types"
require_relative "../arity"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # How a consumer group is split by key: into `count` groups on the cluster, each of which reads all records and
    # processes its own.
    ParallelSegments = Struct.new(:count, :partitioner, :reducer, :merge_key) do
      include FrozenStruct

      # @return [Boolean] whether there is more than one segment
      def active? = count > 1

      # @param origin [String] id of the group as drawn
      # @return [Array<Segment>]
      def segments(origin)
        Array.new(count) { |id| Segment.new(id, origin, "#{origin}#{merge_key}#{id}", self) }
      end
    end

    # One of the groups into which a group was split.
    Segment = Struct.new(:id, :origin, :group_id, :parallel_segments) do
      include FrozenStruct

      def count = parallel_segments.count
      def partitioner = parallel_segments.partitioner
      def reducer = parallel_segments.reducer
    end

    module Features
      # `parallel_segments`: a consumer group split by key.
      module Segments
        MERGE_KEY = "-parallel-"
        # Reducers give the same number in every process and version of Ruby, unlike a String's own hash. The default is
        # Karafka's, so that a group that comes from there keeps its segments. A sum of bytes is uneven: similar keys fill some
        # segments more than others.
        SUM = ->(key, count) { key.to_s.sum % count }
        REDUCERS = {"crc32" => ->(key, count) { Zlib.crc32(key.to_s) % count }}.freeze
        private_constant :MERGE_KEY, :SUM, :REDUCERS

        class << self
          # @return [Feature] of consumer groups
          def feature
            callable = Config::Types::Responding.new(:call)
            reducer = Config::Types::Either.new(Config::Types::Word.new(*REDUCERS.keys), callable)
            option = ->(type, default) { Feature::Option.new(type, default) }
            Feature.new(:parallel_segments, options: {
              count: option.call(Config::Types::Whole.new(min: 1), 1), partitioner: option.call(callable, nil),
              reducer: option.call(reducer, nil), merge_key: option.call(Config::Types::Name.new, MERGE_KEY)
            }, value: method(:value), description: "Splits the group by key into `count` groups on the cluster, each of which " \
              "reads all records and processes its own.")
          end

          # @param segments [ParallelSegments]
          # @return [Array<(String, String)>] messages and hints
          def complaints(segments)
            return [] unless segments.active?
            return arity(segments) if segments.partitioner

            [["parallel_segments has no partitioner",
              "Add one that returns a record's key, such as partitioner: ->(message) { message.key }"]]
          end

          private

          def arity(segments)
            Arity.complaints("parallel_segments partitioner:", segments.partitioner, %w[message]) +
              Arity.complaints("parallel_segments reducer:", segments.reducer, %w[key])
          end

          def value(count:, partitioner:, reducer:, merge_key:)
            ParallelSegments.new(count, partitioner, reducer_for(reducer, count), merge_key)
          end

          def reducer_for(written, count)
            return written if written.respond_to?(:call)
            known = written ? REDUCERS.fetch(written) : SUM
            ->(key) { known.call(key, count) }
          end
        end
      end
    end
  end
end
