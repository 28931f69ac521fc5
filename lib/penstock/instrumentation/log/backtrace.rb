# frozen_string_literal: true

require "rbconfig"

module Penstock
  module Instrumentation
    module Log
      # Cuts Penstock's own frames from a backtrace that has frames of the application: an error of user code shows user code.
      # Stateless; any thread.
      module Backtrace
        # Penstock's code, also where it is part of the application's folder.
        OWN = "#{File.expand_path("../..", __dir__)}/".freeze
        # The frames after it are those of its callers: a binstub, RubyGems, Bundler.
        COMMAND = "#{File.expand_path("../../../../exe/penstock", __dir__)}:".freeze
        private_constant :COMMAND, :OWN

        class << self
          # @param frames [Array<String>]
          # @return [Array<String>] all of them, if none is the application's
          def cut(frames)
            frames = frames.take_while { |frame| !frame.start_with?(COMMAND) }
            others = frames.reject { |frame| frame.start_with?(OWN) }
            (others.any? { |frame| application?(frame) }) ? others : frames
          end

          private

          # Frames of Ruby and of other gems alone would hide which part of Penstock called them.
          def application?(frame) = !frame.start_with?("<internal:", *libraries)

          def libraries
            @libraries ||= [RbConfig::CONFIG["rubylibdir"], *(defined?(::Gem) ? ::Gem.path : [])].compact
              .map { |folder| "#{folder}/" }.freeze
          end
        end
      end
    end
  end
end
