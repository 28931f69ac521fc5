# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "fileutils"
require "minitest/mock"
require "penstock/cli"
require "penstock/testing/broker_command"
require "penstock/testing/broker_process"

class CLITest < Penstock::TestCase
  Context = Penstock::CLI::Context

  def setup
    @out = StringIO.new
    @err = StringIO.new
    @dir = File.realpath(Dir.mktmpdir("cli"))
    @context = Context.new(stdin: StringIO.new, stdout: @out, stderr: @err, env: {}, dir: @dir)
  end

  def teardown
    FileUtils.remove_entry(@dir)
  end

  test "without a command, with help and with --help the overview is printed" do
    overviews = [[], ["help"], ["--help"], ["-h"]].map do |argv|
      @out.truncate(0)
      @out.rewind
      assert_equal 0, run_cli(*argv)
      @out.string.dup
    end

    assert_equal 1, overviews.uniq.size
    assert_includes overviews.first, "Usage: penstock COMMAND"
  end

  test "the overview lists every command and the exit codes" do
    run_cli("help")

    %w[server console install info routes produce tail doctor broker version].each { |name|
      assert_match(/^  #{name} /, @out.string)
    }
    ["topics list", "topics create", "topics delete", "groups lag"].each { |name| assert_match(/^  #{name} /, @out.string) }
    assert_includes @out.string, "2  server: stopped by force"
  end

  test "every command explains itself, its options and the exit codes, and loads nothing for it" do
    Penstock::CLI.registry.all.each do |command|
      next if command.command_name == "help"

      @out.truncate(0)
      assert_equal 0, run_cli(*command.command_name.split, "--help"), command
      assert_includes @out.string, "Usage: penstock #{command.command_name}"
      assert_includes @out.string, "Exit codes:"
    end
  end

  test "help COMMAND is COMMAND --help" do
    run_cli("help", "server")

    assert_includes @out.string, "--include-topics"
  end

  test "a family with --help lists its commands; alone it is an error that names them" do
    assert_equal 0, run_cli("topics", "--help")
    assert_includes @out.string, "topics create"

    assert_equal 1, run_cli("topics")
    assert_includes @err.string, "`penstock topics list`"
  end

  test "an unknown command names the nearest one and fails" do
    assert_equal 1, run_cli("sevrer")
    assert_equal "penstock: there is no command \"sevrer\". Did you mean `penstock server`?\n", @err.string
  end

  test "an output that can't be written hides no other error, and fails a command only if it has no code of its own" do
    error = Errno::ENOSPC.new("rb_io_flush_raw - <STDOUT>") # as Ruby builds it
    @out.define_singleton_method(:flush) { raise error }

    assert_equal 1, run_cli("sevrer")
    assert_match(/\Apenstock: there is no command "sevrer"\. [^\n]*\n\z/, @err.string)
    assert_equal 1, run_cli("version")
    assert_includes @err.string, "\npenstock: the output can't be written: No space left on device"
    error = Errno::EPIPE.new
    assert_equal 0, run_cli("version")
  end

  test "a command's name that isn't valid UTF-8 is an unknown command" do
    [["sevr\xFFer"], ["topics", "cre\xFFte"]].each { |argv| assert_equal 1, run_cli(*argv) }
    assert_equal 2, @err.string.scan(/^penstock: there is no command "/).size
  end

  test "an unknown command of a family names the nearest one" do
    assert_equal 1, run_cli("topics", "crate")
    assert_includes @err.string, "Did you mean `penstock topics create`?"
  end

  test "in a family only the second word is compared: a query isn't mistaken for a deletion" do
    assert_equal 1, run_cli("topics", "find")
    assert_match(/"topics find". `penstock topics` has .*delete/, @err.string)
    refute_match(/Did you mean/, @err.string)
  end

  test "a command of Karafka that doesn't exist here is reported with what to do instead" do
    assert_equal 1, run_cli("web", "install")
    assert_match(/has no web UI/, @err.string)
  end

  test "too many or too few arguments are reported with the usage" do
    assert_equal 1, run_cli("version", "7")
    assert_includes @err.string, "Usage: penstock version"
    assert_equal 1, run_cli("tail")
    assert_includes @err.string, "Usage: penstock tail TOPIC"
  end

  test "--version and version print only the version" do
    2.times { |index| run_cli(*[["--version"], ["version"]][index]) }

    assert_equal "penstock #{Penstock::VERSION}\n" * 2, @out.string
  end

  test "a missing boot file is reported without a backtrace" do
    assert_equal 1, run_cli("server")
    assert_includes @err.string, File.join(@dir, "penstock.rb")
    refute_match(/\.rb:\d+:in/, @err.string)
  end

  test "with PENSTOCK_BACKTRACE the backtrace is shown" do
    @context.env["PENSTOCK_BACKTRACE"] = "1"
    run_cli("server")

    assert_match(/boot_file\.rb:\d+:in/, @err.string)
  end

  test "a defect comes with its backtrace" do
    defect = ArgumentError.new("broken").tap { |error| error.set_backtrace(["penstock.rb:1:in `x'", "penstock.rb:2:in `y'"]) }

    assert_equal 1, Penstock::CLI::Failure.new(defect, @context).report
    assert_equal "penstock.rb:1:in `x': broken (ArgumentError)\n  from penstock.rb:2:in `y'\n", @err.string
  end

  test "an error in the boot file comes with its place" do
    File.write(File.join(@dir, "penstock.rb"), "raise ArgumentError, 'broken'")

    assert_equal 1, run_cli("routes")
    assert_equal "penstock: penstock.rb:1: broken (ArgumentError)\n", @err.string
  end

  test "routes names the options about order and failures" do
    File.write(File.join(@dir, "penstock.rb"), <<~RUBY)
      require "penstock"
      class RoutesTestConsumer < Penstock::BaseConsumer
        def consume = nil
      end
      class RoutesTestApp < Penstock::App
        setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
        routes.draw do
          topic :orders do
            consumer RoutesTestConsumer
            parallel by: :key
            dead_letter_queue topic: "orders.dead", max_retries: 1
          end
          topic :clicks do
            consumer RoutesTestConsumer
            parallel by: ->(message) { message.key }
            dead_letter_queue topic: "clicks.dead", strategy: ->(_errors, _attempt) { :retry }
          end
        end
      end
    RUBY

    assert_equal 0, run_cli("routes"), @err.string
    assert_includes @out.string, "orders → RoutesTestConsumer (parallel by key, dead letters to orders.dead after 1 retry)"
    assert_includes @out.string, "clicks → RoutesTestConsumer (parallel by a callable, dead letters to clicks.dead as its " \
                                 "strategy decides)"
  ensure
    Penstock.forget_app(Object.send(:remove_const, :RoutesTestApp)) if Object.const_defined?(:RoutesTestApp)
  end

  test "a boot file with a syntax error fails and reports the line" do
    File.write(File.join(@dir, "penstock.rb"), "class (")

    assert_equal 1, run_cli("routes")
    assert_includes @err.string, "penstock.rb:1"
  end

  test "a boot file that exits is reported with the place and the code, one that aborts has its own message" do
    {"\nexit" => ["penstock: penstock.rb:2: exit was called while the application was loaded: nothing was started, the exit " \
                  "code is 0\n", 0], "exit 3" => [/penstock.rb:1: .*the exit code is 3$/, 3]}.each do |text, (message, code)|
      File.write(File.join(@dir, "penstock.rb"), text)
      @err.truncate(@err.rewind)
      $LOADED_FEATURES.delete_if { |path| path.start_with?(File.realpath(@dir)) }
      assert_equal code, run_cli("routes")
      assert_operator message, :===, @err.string
    end
    File.write(File.join(@dir, "penstock.rb"), "raise SystemExit.new(1, 'no settings')") # as `abort` does after it has printed
    @err.truncate(@err.rewind)
    assert_equal [1, ""], [run_cli("routes"), @err.string]
  end

  test "a boot file that recurses without an end fails with a few lines" do
    File.write(File.join(@dir, "penstock.rb"), "def endless = endless\nendless")

    assert_equal 1, run_cli("routes")
    assert_match(/\Apenstock: penstock.rb:\d: stack level too deep \(SystemStackError\)$/, @err.string)
    assert_operator @err.string.lines.size, :<, 20
  end

  test "Ctrl-C in a command gives exit code 130, a closed output pipe is no error" do
    assert_equal 130, Penstock::CLI::Failure.new(Interrupt.new, @context).report
    assert_equal 0, Penstock::CLI::Failure.new(Errno::EPIPE.new, @context).report
    assert_equal 3, Penstock::CLI::Failure.new(SystemExit.new(3), @context).report
  end

  test "deleting without a terminal needs --yes" do
    assert_equal 1, run_cli("topics", "delete", "orders", "--bootstrap", "127.0.0.1:1")
    assert_includes @err.string, "--yes"
  end

  test "a time limit that librdkafka can't take is refused" do
    assert_equal 1, run_cli("topics", "list", "--bootstrap", "127.0.0.1:1", "--timeout", "3000000")
    assert_equal "penstock: topics list: --timeout must be at most 86400, is 3000000\n", @err.string
  end

  test "the broker command refuses ports, numbers of partitions and names that don't exist" do
    {%w[--port 99999] => "--port must be at most 65535, is 99999", %w[--port -1] => "--port must be at least 0, is -1",
     %w[--partitions 0] => "--partitions must be at least 1, is 0",
     ["--topics", "a b:1"] => "--topics: \"a b\" isn't a name of 1 to 249 letters"}.each do |argv, text|
      @err.truncate(0)
      @err.rewind

      Penstock::Testing::BrokerProcess.stub(:run, 7) { assert_equal 1, run_cli("broker", *argv) }
      assert_operator @err.string, :start_with?, "penstock: broker: #{text}"
    end
  end

  test "the broker command's topics need a number of partitions" do
    assert_equal 1, run_cli("broker", "--topics", "orders:none")
    assert_includes @err.string, "the number of partitions begins at 1"
  end

  private

  def run_cli(*argv)
    Penstock::CLI.start(argv, @context)
  end
end
