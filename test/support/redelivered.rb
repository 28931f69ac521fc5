# frozen_string_literal: true

require_relative "failing"

module Penstock
  module TestSupport
    # Lanes with manual offsets, in order, whose records are redelivered after errors.
    module Redelivered
      include Failing

      Source = Struct.new(:cursor)

      def manual(count, max: 4, **options)
        lane = filled(count, options.delete(:features) || {}, manual: true, max_messages: max, **options)
        lane.define_singleton_method(:source) { @source ||= Source.new }
        lane
      end

      # Settles units that succeed and mark nothing.
      def gather(lane, count) = count.times { settle(lane, lane.next_unit) }

      # Goes back, as the loop does when nothing else holds the lane any more.
      # @return [Integer, nil] offset to which the source seeks
      def go_back(lane)
        lane.holds.expire(1_000_000)
        assert lane.redelivery.due?, "held for #{lane.holds.reasons}"
        lane.take_marks
        lane.redelivery.begin
      end

      def units(lane)
        [].tap do |found|
          while (unit = lane.next_unit)
            found << offsets_of(unit)
            settle(lane, unit)
          end
        end
      end
    end
  end
end
