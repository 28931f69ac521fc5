# frozen_string_literal: true

module Penstock
  module Swarm
    # A node in events: its number and its process. Equal to its number, printed and sorted like it. A value.
    class NodeIdentity
      include Comparable

      # @return [Integer] its number in the swarm, from 0
      attr_reader :id
      alias_method :index, :id
      alias_method :to_i, :id
      alias_method :to_int, :id

      # @return [Integer, nil] nil before it is forked
      attr_reader :pid

      # @param id [Integer]
      # @param pid [Integer, nil]
      def initialize(id, pid = nil)
        @id = id
        @pid = pid
        freeze
      end

      # @param other [NodeIdentity, Integer]
      # @return [Integer, nil]
      def <=>(other) = @id <=> (other.is_a?(NodeIdentity) ? other.id : other)
      # As a key of a Hash it is the same as its number.
      # @return [Boolean]
      def eql?(other) = @id.eql?(other.is_a?(NodeIdentity) ? other.id : other)
      # @return [Integer]
      def hash = @id.hash

      # For `1 <=> node`.
      # @api private
      def coerce(number) = [number, @id]

      # @return [String] its number
      def to_json(*options) = @id.to_json(*options)
      # @return [String] its number
      def to_s = @id.to_s
      # @return [String]
      def inspect = "#<#{self.class} #{@id}#{" pid #{@pid}" if @pid}>"
    end
  end
end
