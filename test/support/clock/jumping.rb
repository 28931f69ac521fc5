# frozen_string_literal: true

require "open3"
require "rbconfig"
require "tmpdir"

module Penstock
  module TestSupport
    # Wall clocks that a test sets while a process runs. No other process's clock is changed: the process loads a C
    # library before its own (jump.c), compiled once for all tests of a run.
    module Jumping
      SOURCE = File.expand_path("jump.c", __dir__)

      # @return [String, nil] path of the library; nil where there is no compiler for it
      def self.library
        return @library if defined?(@library)
        folder = Dir.mktmpdir("penstock-clock")
        at_exit { FileUtils.remove_entry(folder) }
        path = File.join(folder, "jump.so")
        compiler = RbConfig::CONFIG["CC"].split.first
        options = %w[-O1 -Wall -Werror -shared -fPIC -ldl -lpthread]
        output, status = Open3.capture2e(compiler, *options, "-o", path, SOURCE)
        raise output unless status.success?
        @library = path
      end

      # The clock of one process.
      class Clock
        # @param dir [String] a folder of the test
        def initialize(dir)
          @path = File.join(dir, "clock-#{rand(1 << 40)}")
          set(0)
        end

        # @return [Hash] for the process's environment
        def env = {"LD_PRELOAD" => Jumping.library, "CLOCK_JUMP_FILE" => @path}

        # @param seconds [Numeric] by which it is off from now on
        def set(seconds)
          File.write("#{@path}.new", (seconds * 1_000).to_i.to_s)
          File.rename("#{@path}.new", @path)
        end
      end
    end
  end
end
