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
          # A segment without an offset has done nothing since the group was split: it would begin where the group stood.
          # @return [Array<Integer, nil>] nil: it would begin like a new group
          def starts = segments.map { |offset| offset || origin }
          def lowest = (starts.min unless starts.include?(nil))
          def begun? = segments.any?
          def differing? = segments.compact.uniq.size > 1
          # @return [Boolean] whether this segment's missing offset makes others repeat their work
          def missing?(index) = segments[index].nil? && begun? && starts.uniq.size > 1
          def name = "#{topic}/#{partition}"
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
          return ["the segments of #{@origin} have no offsets"] if @rows.none?(&:begun?)

          found = @segments.each_index.flat_map { |index| missing(index) }
          differing = @rows.select(&:differing?)
          return found if differing.empty?

          [*found, "the segments of #{@origin} have different offsets in #{names(differing)}: " \
            "starting from the lowest repeats what the others have done"]
        end

        # The metadata lists what is complete beyond an offset, so that none of it is done again.
        # @return [Hash{String => Array<Array(String, Integer, Integer, String)>}] what to commit, by group
        def distribution
          moved = @rows.select(&:origin).map { |row| [row.topic, row.partition, row.origin, row.metadata] }
          @segments.to_h { |segment| [segment, moved] }
        end

        # @return [Hash{String => Array<Array(String, Integer, Integer)>}]
        def collapse = {@origin => offsets(@rows.select(&:begun?))}

        # The group first gets the lowest offset of its segments, then they all get the group's. Where a segment would begin like
        # a new group, all must: their commits are removed.
        # @return [Hash{String => Array<Array(String, Integer, Integer)>}] with nil for an offset to remove
        def reset
          moved = offsets(@rows)
          @segments.each_with_index.to_h { |id, index| [id, moved + removed(index)] }.then { |rest| {@origin => moved, **rest} }
        end

        private

        def offsets(rows) = rows.filter_map { |row| (offset = row.lowest) && [row.topic, row.partition, offset] }

        def removed(index)
          @rows.select { |row| row.segments[index] && row.lowest.nil? }.map { |row| [row.topic, row.partition, nil] }
        end

        # @return [Array<String>] the objections to a segment that has no offset where others have one
        def missing(index)
          known, unknown = @rows.select { |row| row.missing?(index) }.partition(&:origin)
          texts = {
            known => ": there it has done nothing since the group was split, so the offset of #{@origin} counts, " \
                     "and what the others have done is repeated",
            unknown => ", and neither has #{@origin}: there all start like a new group"
          }
          texts.filter_map { |rows, text| "#{@segments[index]} has no offset in #{names(rows)}#{text}" if rows.any? }
        end

        def names(rows) = rows.map(&:name).join(", ")
      end
    end
  end
end
