# frozen_string_literal: true

require "fileutils"

module Penstock
  module TestSupport
    module Runner
      # The gems of this process's bundle, for processes that are started without Bundler: it takes 0.4 s of CPU to find the
      # same gems again, and a test run starts more than a thousand processes.
      class Bundle
        SETUP = /-r\S*bundler\/setup\S*/
        # Run by Ruby before anything else, in a process of tests and in all that it starts with the same environment. Bundler
        # itself, and what it starts, find their gems as usual; a process without RubyGems needs none.
        LOADER = <<~RUBY
          if defined?(Gem) && !defined?(Bundler) && File.basename($PROGRAM_NAME) != "bundle"
            Marshal.load(File.binread(File.expand_path("bundle.bin", __dir__))).each do |spec, loaded_from, folders|
              spec.loaded_from = loaded_from
              Gem.loaded_specs[spec.name] = spec
              Gem.add_to_load_path(*folders)
            end
          end
        RUBY

        # @param folder [String] where its two files are written
        def initialize(folder)
          @folder = folder
        end

        # @return [Hash{String => String}] environment of the processes; empty: they find their gems by themselves
        def env
          options = ENV.fetch("RUBYOPT", "")
          # RUBYOPT can't have blanks in a path.
          return {} if !options.match?(SETUP) || loader.match?(/\s/)

          write
          {"RUBYOPT" => options.sub(SETUP, "-r#{loader}")}
        end

        private

        def loader = File.join(@folder, "bundle.rb")

        def write
          FileUtils.mkdir_p(@folder)
          gems = Gem.loaded_specs.values.reject { |spec| spec.name == "bundler" }
          rows = gems.map { |spec| [whole(spec), spec.loaded_from, spec.full_require_paths] }
          File.binwrite(File.join(@folder, "bundle.bin"), Marshal.dump(rows))
          File.write(loader, "# frozen_string_literal: true\n\n#{LOADER}")
        end

        # Bundler's own objects refer to its sources, which can't be written.
        def whole(spec) = Gem::Specification.load(spec.loaded_from) || spec
      end
    end
  end
end
