# frozen_string_literal: true

require "test_helper"
require "penstock/version"
require "json"
require_relative "../support/command_line"

class CommandLineProcessTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  test "a message for an unreachable broker fails while the user still waits, not after minutes" do
    began = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
    result = penstock("produce", "orders", "x", "--bootstrap", "127.0.0.1:1")

    assert_equal 1, result.code
    assert_includes result.err, "timed out"
    assert_operator ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) - began, :<, 40
  end

  test "--help loads no application, no native extension and none of the runtime" do
    loaded = features_loaded("--help")

    assert_empty loaded.grep(/penstock_(core|kafka)\.\w+\z/)
    assert_empty loaded.grep(%r{/penstock/(application|runtime|native|producer|routing|config)\b})
    assert_empty loaded.grep(/openssl|irb/)
  end

  test "--help takes little longer than Ruby itself takes to start" do
    bare = cpu_seconds { system(RbConfig.ruby, "-e", "1") }
    help = cpu_seconds { system(RbConfig.ruby, EXECUTABLE, "--help", out: File::NULL) }

    assert_operator help, :<, (bare * 3) + 0.05, "help took #{help} s of CPU where bare Ruby took #{bare} s"
  end

  test "an unknown command names the nearest one, fails and shows no backtrace" do
    result = penstock("sevrer")

    assert_equal 1, result.code
    assert_equal "penstock: there is no command \"sevrer\". Did you mean `penstock server`?\n", result.err
    assert_empty result.out
  end

  test "[boot file env] without a boot file the server fails and names the places, without a backtrace" do
    result = penstock("server")

    assert_equal 1, result.code
    assert_includes result.err, File.join(@dir, "penstock.rb")
    assert_includes result.err, "penstock install"
    refute_match(/\.rb:\d+:in/, result.err)
  end

  test "[boot file env] relative, absolute and false are understood by the executable" do
    file = write("boot/it.rb", "puts \"loaded \#{__FILE__}\"")

    ["boot/it.rb", file].each do |named|
      assert_includes penstock("routes", env: {"PENSTOCK_BOOT_FILE" => named}).out, "loaded #{file}"
    end
    refused = penstock("routes", env: {"PENSTOCK_BOOT_FILE" => "false"})
    assert_equal 1, refused.code
    assert_includes refused.err, "defines no application"
  end

  test "an invalid configuration is printed as a list, with exit code 1 and without a backtrace" do
    write("penstock.rb", <<~RUBY)
      require "penstock"
      class PenstockApp < Penstock::App
        setup do |config|
          config.client_id = nil
          config.concurency = 5
          config.kafka = {"bootstrap.servers": "127.0.0.1:1", "sesion.timeout.ms": 6_000}
        end
        routes.draw { topic(:orders) { } }
      end
    RUBY
    result = penstock("server")

    assert_equal 1, result.code
    ["client_id", "concurency", "sesion.timeout.ms", "orders"].each { |name| assert_includes result.err, name }
    refute_match(/\.rb:\d+:in/, result.err)
  end

  test "[install] an empty folder becomes an application whose routes are printed" do
    assert_equal 0, penstock("install").code
    result = penstock("routes", "--json")

    assert_equal 0, result.code, result.err
    group = JSON.parse(result.out).first
    assert_equal [File.basename(@dir), "example"],
      [group["id"], group["subscription_groups"].first["topics"].first["name"]]
  end

  test "info prints what the application consists of" do
    penstock("install")
    result = penstock("info", "--json")

    assert_equal 0, result.code, result.err
    facts = JSON.parse(result.out)
    assert_equal [Penstock::VERSION, File.basename(@dir), 5, 1], facts.values_at("penstock", "client_id", "threads", "topics")
  end

  test "console opens IRB with the application loaded" do
    penstock("install")
    result = penstock("console", input: "puts Penstock.app.config.client_id * 2\n")

    assert_equal 0, result.code, result.err
    assert_includes result.out, File.basename(@dir) * 2
  end

  test "a filter that names nothing routed fails with the nearest name" do
    penstock("install")
    result = penstock("server", "--include_topics=exmple")

    assert_equal 1, result.code
    assert_includes result.err, "Did you mean example?"
  end

  test "a stop while a server or swarm boots ends it with code 0, as there is nothing to drain" do
    file = write("boot.rb", "::Process.kill(ENV.fetch('STOP'), $$); IO.select(nil, nil, nil, 60); raise 'went on'")
    results = %w[TERM INT QUIT].map { |name| penstock("server", env: {"PENSTOCK_BOOT_FILE" => file, "STOP" => name}) }
    results << penstock("swarm", env: {"PENSTOCK_BOOT_FILE" => file, "STOP" => "INT"})

    assert_equal [0] * 4, results.map(&:code), results.map(&:err).join
  end

  test "a boot file with a syntax error fails and names the line" do
    write("penstock.rb", "class (\n")
    result = penstock("server")

    assert_equal 1, result.code
    assert_includes result.err, "penstock.rb:1"
  end

  test "a reader that closes its pipe early is no error" do
    out, status = Open3.capture2(CLEAN, "#{RbConfig.ruby} #{EXECUTABLE} help | head -n 1; exit ${PIPESTATUS:-0}")

    assert_includes out, "penstock"
    assert_predicate status, :success?
  end

  test "in a folder that was deleted, help and status work, and a command that needs a boot file names where it looked" do
    found = ["--help", "status", "routes"].map do |argument|
      shell = "mkdir gone; cd gone; rmdir ../gone; exec #{RbConfig.ruby} #{EXECUTABLE} #{argument} 2>&1"
      Open3.capture2(CLEAN.merge("PENSTOCK_RUN_DIR" => @dir), "sh", "-c", shell, chdir: @dir)
    end

    assert_equal [0, 1, 1], found.map { |_out, status| status.exitstatus }
    assert_includes found[0].first, "Usage: penstock COMMAND"
    assert_match(/\Apenstock: no server or swarm of this user runs here/, found[1].first)
    assert_includes found[2].first, File.join(@dir, "gone/penstock.rb")
  end

  test "an output that can't be written is one line and an error" do
    skip "this system has no /dev/full" unless File.exist?("/dev/full")
    err, status = Open3.capture2e(CLEAN, "#{RbConfig.ruby} #{EXECUTABLE} help 2>&1 >/dev/full", chdir: @dir)

    assert_equal "penstock: the output can't be written: No space left on device\n", err
    assert_equal 1, status.exitstatus
  end

  private

  def features_loaded(*argv)
    code = "require #{File.join(ROOT, "lib/penstock/cli").inspect}; " \
      "Penstock::CLI.start(#{argv.inspect}, Penstock::CLI::Context.new(stdin: $stdin, stdout: $stderr, stderr: $stderr, " \
      "env: {}, dir: '.')); puts $LOADED_FEATURES"
    out, _err, status = Open3.capture3(CLEAN, RbConfig.ruby, "-e", code)
    assert_predicate status, :success?
    out.lines(chomp: true)
  end

  # @return [Float] the median of five runs; the time of a process doesn't depend on what else the machine does
  def cpu_seconds
    times = Array.new(5) do
      before = ::Process.times
      yield
      after = ::Process.times
      after.cutime + after.cstime - before.cutime - before.cstime
    end
    times.sort[2]
  end
end
