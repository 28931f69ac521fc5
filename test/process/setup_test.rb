# frozen_string_literal: true

require "test_helper"
require "support/command_line"

# bin/setup in a tree of its own, with a Bundler that only records its calls.
class SetupTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  BUNDLE = <<~SH
    #!/bin/sh
    echo "$*${BUNDLE_GEMFILE:+ with $(basename "$BUNDLE_GEMFILE")}" >>calls
    case "$*" in
      check) exit "${GEMS_MISSING:-0}" ;;
      "install --quiet") [ -n "$BUNDLE_GEMFILE" ] || [ -z "$NO_GEMS" ] || { until grep -q compile calls; do :; done; exit 5; } ;;
      *librdkafka:fetch) echo "90 % 100 %" >&2 ;;
      *compile) echo "the compiler's output"; mkdir -p ports/x && touch ports/x/librdkafka.a; exit "${COMPILER:-0}" ;;
    esac
  SH

  def setup
    super
    %w[bin/setup Gemfile gemfiles/run.gemfile penstock.gemspec].each { |path| write(path, File.read(File.join(ROOT, path))) }
    File.chmod(0o755, File.join(@dir, "bin/setup"), write("stubs/bundle", BUNDLE))
  end

  def run_setup(*arguments, **env)
    env = {"PATH" => "#{@dir}/stubs:#{ENV.fetch("PATH")}", **env.transform_keys(&:to_s)}
    Open3.capture2e(CLEAN.merge(env), File.join(@dir, "bin/setup"), *arguments)
  end

  def calls = File.readlines(File.join(@dir, "calls"), chomp: true)

  test "a fresh machine: numbered steps with the time they take, the download's progress, and the total time" do
    output, status = run_setup("--quiet", GEMS_MISSING: "1")

    assert_predicate status, :success?, output
    parts = ["[2/4] installing gems", "minutes)", "[3/4] fetching librdkafka's source", "seconds)", "90 % 100 %",
      "[4/4] compiling", "minutes; output in tmp/compile.log)", "ready after"]
    assert_match(/#{parts.map { |part| Regexp.escape(part) }.join(".*")}/m, output)
    first = ["check", "config set --local path vendor/bundle", "install --quiet with run.gemfile",
      "exec rake --quiet librdkafka:fetch with run.gemfile"]
    assert_equal first, calls.first(4)
    assert_equal ["exec rake compile with run.gemfile", "install --quiet"], calls.drop(4).sort, "at the same time"
    assert_equal ["", calls.size + 2], [run_setup("--quiet").first, calls.size], "with --quiet, when nothing is missing"
  end

  test "only to run it: without the gems of tests and checks, which a set-up for tests still installs" do
    output, status = run_setup("--quiet", "--run", GEMS_MISSING: "1")

    assert_predicate status, :success?, output
    assert_includes calls, "install --quiet with run.gemfile"
    count = calls.size
    run_setup("--quiet", GEMS_MISSING: "1")
    assert_includes calls.drop(count), "install --quiet"
  end

  test "an unknown argument is refused" do
    output, status = run_setup("--qiet")

    assert_equal [2, "usage: bin/setup [--quiet] [--run]\n"], [status.exitstatus, output]
  end

  test "a driver that doesn't compile: the end of the compiler's output, and no stamp" do
    output, status = run_setup(COMPILER: "1")

    refute_predicate status, :success?
    assert_match(/did not compile; the end of tmp\/compile\.log:\nthe compiler's output/, output)
    refute_path_exists File.join(@dir, "tmp/setup.stamp")
  end

  test "gems that can't be installed end the compiler, too, and leave no stamp" do
    output, status = run_setup(GEMS_MISSING: "1", NO_GEMS: "1")

    assert_equal [1, true], [status.exitstatus, output.include?("the gems could not be installed from")], output
    refute_path_exists File.join(@dir, "tmp/setup.stamp")
    assert_includes calls, "exec rake compile with run.gemfile"
  end

  test "with the system's librdkafka its source isn't fetched" do
    output, = run_setup(PENSTOCK_USE_SYSTEM_LIBRARIES: "1")

    refute_match(/librdkafka/, output)
    assert_equal ["check", "exec rake compile"], calls
  end
end
