# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Stands in for Karafka's internal settings (`config.internal.swarm.liveness_interval = 5`): accepts any call and
      # reports the dotted path of each setting that is set, so that it is listed together with all other problems.
      # Lives for one run of a setup block, on its thread.
      class SettingTree
        # @param path [String] dotted
        # @yieldparam place [String] dotted path of a setting that was set
        def initialize(path, &note)
          @path = path
          @note = note
        end

        # As in a section.
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
end
