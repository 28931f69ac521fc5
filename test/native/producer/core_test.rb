# frozen_string_literal: true

require "test_helper"
require "open3"
require "rbconfig"
require "tmpdir"

# C unit tests of the producer's core, which need librdkafka's header but not its code. Each is built with the address
# and undefined behaviour sanitizers, and once more with the thread sanitizer.
class ProducerCoreTest < Penstock::TestCase
  ROOT = File.expand_path("../../..", __dir__)
  CORE = File.join(ROOT, "ext/penstock_kafka/core")
  SOURCES = {
    "delivery_test" => %w[delivery event_flags wake completions], "event_flags_test" => %w[event_flags wake],
    "reports_test" => %w[producer_reports],
    "transaction_test" => %w[transaction transaction_thread handle event_flags wake]
  }.freeze
  COMMON = %w[clock thread].freeze
  WARNINGS = %w[-std=gnu11 -g -O1 -Wall -Wextra -Werror -Wno-unused-function].freeze
  SANITIZERS = {
    "address and undefined behaviour" => %w[-fsanitize=address,undefined -fno-sanitize-recover=all],
    "threads" => %w[-fsanitize=thread],
    "threads, without futex and eventfd" => %w[-fsanitize=thread -DPENSTOCK_NO_EVENTFD]
  }.freeze

  SOURCES.each do |name, parts|
    SANITIZERS.each do |kind, flags|
      test "#{name}.c passes, without findings of the sanitizer of #{kind}" do
        Dir.mktmpdir do |folder|
          program = File.join(folder, name)
          output, status = compile(flags, name, parts, program)
          skip "this compiler has no sanitizer of #{kind}" if !status.success? && output.match?(/cannot find|unsupported/)
          assert_predicate status, :success?, output
          output, status = Open3.capture2e({"LD_PRELOAD" => nil}, *without_randomization, program)

          assert_predicate status, :success?, output
          assert_match(/\A\d+ checks, 0 failed\n\z/, output)
        end
      end
    end
  end

  private

  # The thread sanitizer of older compilers fails with the address layout of newer kernels.
  def without_randomization
    File.executable?("/usr/bin/setarch") ? %w[/usr/bin/setarch -R] : []
  end

  def compile(flags, name, parts, program)
    files = (parts + COMMON).map { |part| File.join(CORE, "#{part}.c") }
    includes = ["-I#{CORE}", *header.flat_map { |path| ["-isystem", path] }]
    Open3.capture2e(*RbConfig::CONFIG["CC"].split, *WARNINGS, *flags, *includes, File.join(__dir__, "core/#{name}.c"),
      *files, "-lpthread", "-o", program)
  end

  # @return [Array<String>] folders: of our own build, or the system's
  def header
    own = Dir[File.join(ROOT, "ports/*/librdkafka/*/include/librdkafka/rdkafka.h")].first
    return [File.dirname(own)] if own

    path = "/usr/include/librdkafka"
    File.file?("#{path}/rdkafka.h") ? [path] : skip("rdkafka.h is not here: build the extension first")
  end
end
