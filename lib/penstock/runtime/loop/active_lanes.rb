# frozen_string_literal: true

module Penstock
  module Runtime
    # Lists the lanes of a connection for which the poll loop may have something to do, so that a turn costs nothing for each of
    # the thousands of partitions that have neither records nor units, holds or marks ({Processing::Lane#inactive?}).
    #
    # A part of the loop that gives a lane something to do adds it: when its source becomes ready, when it is assigned, held by a
    # breaker, or gets a unit without records. After an event of the driver or a request of another thread the loop adds all
    # lanes, because any of them may be concerned. Inactive lanes are dropped at the end of a turn. One per connection, on the
    # poll loop's thread.
    class ActiveLanes
      # @param current [Hash{Processing::Lane => true}] all lanes of the connection, by identity
      def initialize(current)
        @current = current
        @active = {}.compare_by_identity
        @list = nil
      end

      # @param lane [Processing::Lane] that may have something to do; ignored if it doesn't belong to the connection any more
      def add(lane)
        return if @active.key?(lane) || !@current.key?(lane)
        @active[lane] = true
        @list = nil
      end

      # Any lane may have something to do.
      def add_all
        return if @active.size == @current.size
        @current.each_key { |lane| @active[lane] = true }
        @list = nil
      end

      # @param lane [Processing::Lane] that doesn't belong to the connection any more
      def remove(lane)
        @list = nil if @active.delete(lane)
      end

      # Drops the lanes that have nothing to do.
      def drop_inactive
        before = @active.size
        @active.delete_if { |lane, _true| lane.inactive? }
        @list = nil unless @active.size == before
      end

      # @return [Array<Processing::Lane>] frozen; a later change returns another Array
      def to_a = @list ||= @active.keys.freeze
    end
  end
end
