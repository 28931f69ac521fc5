# frozen_string_literal: true

module Penstock
  module Config
    # Which folder is the application's: `PENSTOCK_ROOT_DIR`, else the folder of the Gemfile in use when the current folder lies
    # in it (so that it is found from below, and nobody's who wasn't meant), else the current one. Without state.
    module Root
      VARIABLE = "PENSTOCK_ROOT_DIR"

      class << self
        # @param env [#[], #values_at] environment variables
        # @param dir [String] current folder
        # @return [String] absolute
        def path(env: ENV, dir: Dir.pwd) = File.expand_path(env[VARIABLE] || gemfile_folder(env, dir) || dir, dir)

        # @return [Pathname]
        def find
          require "pathname" # few ask
          Pathname.new(path)
        end

        private

        # Bundler sets BUNDLE_GEMFILE for what it starts; tools that run inside another bundle (an editor's language
        # server) keep the first one in BUNDLER_ORIG_BUNDLE_GEMFILE, with a marker where there was none.
        def gemfile_folder(env, dir)
          folders = env.values_at("BUNDLER_ORIG_BUNDLE_GEMFILE", "BUNDLE_GEMFILE")
            .select { |gemfile| gemfile.to_s.start_with?("/") }.map { |gemfile| File.dirname(gemfile) }
          folders.find { |folder| dir == folder || dir.start_with?("#{folder}/") }
        end
      end
    end
  end
end
