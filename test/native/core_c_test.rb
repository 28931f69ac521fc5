# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

module Penstock
  # The C unit tests of the part without librdkafka: plain programs, built with the sanitizers if the compiler has them. By
  # hand: cc -fsanitize=address,undefined -Iext/penstock_core/core test/native/core/envelope_test.c ext/penstock_core/core/*.c
  class CoreCTest < TestCase
    ROOT = File.expand_path("../..", __dir__)
    CORE = File.join(ROOT, "ext/penstock_core/core")
    ARGUMENTS = {"stats_trim_test" => [File.join(ROOT, "test/unit/native/files/librdkafka-2.16.0-statistics.json")]}.freeze
    SANITIZERS = %w[-fsanitize=address,undefined -fno-sanitize-recover=all].freeze
    COMPILE = [*RbConfig::CONFIG["CC"].split, "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I#{CORE}"].freeze
    # The address sanitizer has its own malloc; this test is about the C library's.
    MALLOC = {"heap_test" => %w[-fsanitize=undefined -fno-sanitize-recover=all]}.freeze

    Dir[File.join(__dir__, "core/*_test.c")].each do |source|
      name = File.basename(source, ".c")

      test "#{name}.c passes, without findings of the sanitizers" do
        Dir.mktmpdir do |folder|
          program = File.join(folder, name)
          build(source, program)
          output, status = Open3.capture2e(environment, program, *ARGUMENTS.fetch(name, []))

          assert_predicate status, :success?, output
          assert_match(/\A\d+ checks, 0 failed\n\z/, output)
        end
      end
    end

    private

    def build(source, program)
      return if compile(MALLOC.fetch(File.basename(program), SANITIZERS), source, program).last.success?

      output, status = compile([], source, program)
      assert_predicate status, :success?, output
    end

    def compile(flags, source, program)
      objects, output, status = CoreCTest.objects(flags)
      return [output, status] unless status.success?

      Open3.capture2e(*COMPILE, *flags, source, *objects, "-o", program)
    end

    class << self
      # The core is compiled once for all tests that use the same sanitizers.
      # @return [Array] the object files, what the compiler printed, its status
      def objects(flags)
        @objects ||= {}
        @objects[flags] ||= begin
          folder = Dir.mktmpdir
          Minitest.after_run { FileUtils.rm_rf(folder) }
          output, status = Open3.capture2e(*COMPILE, *flags, "-c", *Dir[File.join(CORE, "*.c")].sort, chdir: folder)
          [Dir[File.join(folder, "*.o")].sort, output, status]
        end
      end
    end

    # Ruby itself may run with a preloaded sanitizer; the program has its own.
    def environment
      {"LD_PRELOAD" => nil, "ASAN_OPTIONS" => "detect_leaks=1"}
    end
  end
end
