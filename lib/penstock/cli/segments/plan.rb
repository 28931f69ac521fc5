# frozen_string_literal: true

module Penstock
  module CLI
    module Segments
      # Computes what moving the offsets of one split group would change: from the group to its segments, or back. Pure:
      # offsets in, rows and objections out. A frozen value.
      class Plan
        # One partition: the group's offset before it was split, with the metadata of that commit, and the offset of
        # each of its segments (nil: none).
        Row = Struct.new(:topic, :partition, :origin, :metadata, :segments) do
          def lowest = segments.compact.min
          def unequal? = segments.uniq.size > 1
        end

        # @return [String] id of the split group
        attr_reader :origin
        # @return [Array<String>] ids of its segments
        attr_reader :segments
        # @return [Array<Row>]
        attr_reader :rows

        # @param origin [String]
        # @param segments [Array<String>]
        # @param committed [Hash{String => Hash{Array(String, Integer) => Array(Integer, String)}}] offset and metadata by group
        #   and partition
        def initialize(origin, segments, committed)
          @origin = origin
          @segments = segments
          keys = committed.values.flat_map(&:keys).uniq.sort
          @rows = keys.map do |key|
            of = ->(group) { committed.fetch(group, {})[key] }
            Row.new(*key, *(of.call(origin) || [nil, nil]), segments.map { |segment| of.call(segment)&.first })
          end
          freeze
        end

        # @return [Array<String>] why the segments shouldn't get the group's offsets
        def against_distributing
          taken = @segments.each_with_index.filter_map { |id, index| id if @rows.any? { |row| row.segments[index] } }
          found = []
          found << "#{@origin} has no offsets" if @rows.none?(&:origin)
          found << "#{taken.join(", ")} #{(taken.size > 1) ? "have" : "has"} offsets that would be lost" if taken.any?
          found
        end

        # @return [Array<String>] why the group shouldn't get its segments' offsets
        def against_collapsing
          return ["the segments of #{@origin} have no offsets"] if @rows.none?(&:lowest)
          differing = @rows.select(&:unequal?)
          return [] if differing.empty?
          ["the segments of #{@origin} have different offsets in #{differing.map { |row| "#{row.topic}/#{row.partition}" }
            .join(", ")}: starting from the lowest repeats what the others have done"]
        end

        # The metadata lists what is complete beyond an offset, so that none of it is done again.
        # @return [Hash{String => Array<Array(String, Integer, Integer, String)>}] what to commit, by group
        def distribution
          moved = @rows.select(&:origin).map { |row| [row.topic, row.partition, row.origin, row.metadata] }
          @segments.to_h { |segment| [segment, moved] }
        end

        # @return [Hash{String => Array<Array(String, Integer, Integer)>}]
        def collapse = {@origin => @rows.select(&:lowest).map { |row| [row.topic, row.partition, row.lowest] }}

        # The group first gets the lowest offset of its segments, then they all get the group's.
        # @return [Hash{String => Array<Array(String, Integer, Integer)>}]
        def reset
          moved = @rows.filter_map { |row| (offset = row.lowest || row.origin) && [row.topic, row.partition, offset] }
          [@origin, *@segments].to_h { |group| [group, moved] }
        end
      end
    end
  end
end
