# frozen_string_literal: true

module Penstock
  # Objects as long as something else holds them. Any thread.
  #
  # Before Ruby 3.3 a WeakMap looks only at an entry's *value* to see whether the entry is alive. If the value lives longer than
  # the key, the map returns keys whose memory is being freed, and the process crashes. Here the value is the key.
  class WeakSet
    def initialize
      @map = ObjectSpace::WeakMap.new
    end

    # @param object [Object]
    # @return [self]
    def add(object)
      @map[object] = object
      self
    end

    # @return [Array] those that are alive
    def to_a = @map.keys
  end
end
