# frozen_string_literal: true

module Penstock
  module Config
    # Stands where the incumbent has settings of its inside (`config.internal.swarm.liveness_interval = 5`): takes whatever is
    # said to it and writes down where, so that the place is told with its way out beside all other problems. For one run of a
    # setup block, on its thread.
    class Elsewhere
      # @param path [String] dotted
      # @yieldparam place [String] dotted path of what was said
      def initialize(path, &note)
        @path = path
        @note = note
      end

      # As sections have it.
      def setup
        yield self
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@path}>"

      private

      def method_missing(name, *arguments, **options, &block)
        plain = name.to_s
        return deeper(plain) if arguments.empty? && options.empty? && block.nil?

        @note.call(plain.match?(/\A\w+=\z/) ? "#{@path}.#{plain.delete_suffix("=")}" : @path)
        self
      end

      def respond_to_missing?(name, _all = false) = name.match?(/\A[a-z]\w*=?\z/) && !name.start_with?("to_")

      def deeper(name) = self.class.new("#{@path}.#{name}", &@note)
    end
  end
end
