# frozen_string_literal: true

module Penstock
  module Config
    # Finds the application's folder: `PENSTOCK_ROOT_DIR`, else the folder of the Gemfile in use if the current folder
    # is within it (so that it is found from a subfolder, and no unrelated folder is used), else the current folder. A Rails
    # application between the two has the Gemfile of a folder above it, as in a repository of several applications: then it is
    # the Rails application's folder. Stateless.
    module Root
      VARIABLE = "PENSTOCK_ROOT_DIR"
      # A Rails application has it.
      ENVIRONMENT = "config/environment.rb"
      private_constant :ENVIRONMENT

      class << self
        # @param env [#[], #values_at] environment variables
        # @param dir [String] current folder
        # @return [String] absolute
        def path(env: ENV, dir: Dir.pwd) = File.expand_path(env[VARIABLE] || bundled_folder(env, dir) || dir, dir)

        # @return [Pathname]
        def find
          require "pathname" # rarely needed
          Pathname.new(path)
        end

        private

        def bundled_folder(env, dir)
          top = gemfile_folder(env, dir) or return
          folder = dir
          folder = File.dirname(folder) until folder == top || File.file?(File.join(folder, ENVIRONMENT))
          folder
        end

        # Bundler sets BUNDLE_GEMFILE for the processes it starts; tools that run inside another bundle (an editor's
        # language server) keep the first one in BUNDLER_ORIG_BUNDLE_GEMFILE, with a marker if there was none.
        def gemfile_folder(env, dir)
          folders = env.values_at("BUNDLER_ORIG_BUNDLE_GEMFILE", "BUNDLE_GEMFILE")
            .select { |gemfile| gemfile.to_s.start_with?("/") }.map { |gemfile| File.dirname(gemfile) }
          folders.find { |folder| dir == folder || dir.start_with?("#{folder}/") }
        end
      end
    end
  end
end
