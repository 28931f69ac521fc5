# frozen_string_literal: true

require "test_helper"
require "open3"
require "rbconfig"
require "tmpdir"

module Penstock
  # The C unit tests of the driver's core: plain programs over a queue that behaves like librdkafka's, built once for
  # memory errors and undefined behaviour, once for data races. By hand: cc -fsanitize=thread -Iext/penstock_kafka/core
  # -Itest/native/core -I<librdkafka>/include/librdkafka test/native/driver/{lane_test,fake_rdkafka}.c
  # ext/penstock_kafka/core/{lane,batch,arena,wake,clock}.c
  class DriverCTest < TestCase
    ROOT = File.expand_path("../..", __dir__)
    CORE = File.join(ROOT, "ext/penstock_kafka/core")
    FOLDER = File.join(__dir__, "driver")
    # The parts of each program; the fake replaces librdkafka where a part calls it.
    PARTS = {
      "arena_test" => %w[arena], "wake_test" => %w[wake], "handle_test" => %w[handle clock thread],
      "lane_test" => %w[lane batch arena wake clock]
    }.freeze
    SANITIZERS = {
      "memory errors" => %w[-fsanitize=address,undefined -fno-sanitize-recover=all],
      "data races" => %w[-fsanitize=thread]
    }.freeze

    PARTS.each do |name, parts|
      SANITIZERS.each do |what, flags|
        test "#{name}.c passes, without #{what}" do
          Dir.mktmpdir do |folder|
            program = build(folder, name, parts, flags)
            output, status = Open3.capture2e({"LD_PRELOAD" => nil}, *command(flags), program)

            assert_predicate status, :success?, output
            assert_match(/^\d+ checks, 0 failed\n\z/, output)
          end
        end
      end
    end

    private

    def build(folder, name, parts, flags)
      sources = [File.join(FOLDER, "#{name}.c"), *parts.map { |part| File.join(CORE, "#{part}.c") }]
      sources << File.join(FOLDER, "fake_rdkafka.c") if parts.include?("lane")
      program = File.join(folder, name)
      output, status = compile(flags, sources, program)
      skip "the compiler has no #{flags.first}" if !status.success? && output.include?("cannot find")
      assert_predicate status, :success?, output
      program
    end

    def compile(flags, sources, program)
      Open3.capture2e(*RbConfig::CONFIG["CC"].split, "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror",
        "-Wno-unused-function", *flags, *includes, *sources, "-lpthread", "-o", program)
    end

    # The race checker needs addresses that are less randomized than newer kernels' are.
    def command(flags)
      setarch = flags.first.end_with?("thread") && File.executable?("/usr/bin/setarch")
      setarch ? ["setarch", RbConfig::CONFIG["host_cpu"], "-R"] : []
    end

    # -isystem: warnings in librdkafka's header aren't ours.
    def includes
      header = Dir[File.join(ROOT, "ports/**/librdkafka/rdkafka.h")].max
      skip "needs the header of the built librdkafka" unless header
      ["-I#{CORE}", "-I#{File.join(__dir__, "core")}", "-isystem", File.dirname(header)]
    end
  end
end
