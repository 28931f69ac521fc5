# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "fileutils"
require "penstock"
require "penstock/cli"
require "penstock/testing/broker_command"

# Mistakes of a user's first days that the command line meets when it loads the application: what is printed, as a whole.
class FirstDayBootTest < Penstock::TestCase
  def setup
    @apps = Penstock.instance_variable_get(:@apps)
    Penstock.instance_variable_set(:@apps, {})
    @err = StringIO.new
    @dir = File.realpath(Dir.mktmpdir("boot"))
    @context = Penstock::CLI::Context.new(stdin: StringIO.new, stdout: StringIO.new, stderr: @err, env: {}, dir: @dir)
  end

  def teardown
    Penstock.instance_variable_set(:@apps, @apps)
    FileUtils.remove_entry(@dir)
  end

  test "a misspelt class is printed with its place in the boot file, without Penstock's frames" do
    printed = boot(<<~RUBY)
      # Routes.
      [:orders].each do |_topic|
        OrderConsumer
      end
    RUBY

    first, *others = printed.lines(chomp: true)
    assert_equal "penstock: penstock.rb:3: uninitialized constant OrderConsumer (NameError)", first
    assert_equal ["  from penstock.rb:3:in `block in <top (required)>'", "  from penstock.rb:2:in `each'",
      "  from penstock.rb:2:in `<top (required)>'"], others.grep(/from/).map { |line| line.gsub("'Array#each'", "`each'") }
  end

  test "the other framework's name in a boot file is printed with Penstock's" do
    assert_equal "penstock: penstock.rb:1: uninitialized constant Karafka (NameError). Write Penstock::App for Karafka::App, " \
                 "and Penstock::BaseConsumer for Karafka::BaseConsumer", boot("class App < Karafka::App\nend\n").lines.first.chomp
  end

  test "a missing file is printed with the place that requires it" do
    assert_equal "penstock: penstock.rb:2: cannot load such file -- orders_consumr (LoadError)",
      boot("# Files.\nrequire \"orders_consumr\"\n").lines.first.chomp
  end

  test "an environment variable that isn't set is printed with its place" do
    assert_equal "penstock: penstock.rb:1: key not found: \"PENSTOCK_TEST_UNSET\" (KeyError)",
      boot("ENV.fetch(\"PENSTOCK_TEST_UNSET\")\n").lines.first.chomp
  end

  test "a log file in a folder that doesn't exist is printed with the place in the boot file" do
    assert_equal "penstock: penstock.rb:2: No such file or directory @ rb_sysopen - nowhere/penstock.log (Errno::ENOENT)",
      boot("require \"logger\"\nLogger.new(\"nowhere/penstock.log\")\n").lines.first.chomp
  end

  test "a syntax error is printed with its line only" do
    printed = boot("class (")

    assert_match(/\Apenstock: penstock\.rb:1: syntax error/, printed)
    refute_match(/:in /, printed)
  end

  test "an error in a file that the boot file loads has that file as its place" do
    FileUtils.mkdir(File.join(@dir, "app"))
    File.write(File.join(@dir, "app/orders.rb"), "\n\nraise \"broken\"\n")

    assert_equal "penstock: app/orders.rb:3: broken (RuntimeError)",
      boot("require_relative \"app/orders\"\n").lines.first.chomp
  end

  test "with PENSTOCK_BACKTRACE all frames are printed" do
    @context.env["PENSTOCK_BACKTRACE"] = "1"

    assert_match(%r{penstock\.rb:1:in .*/lib/penstock/config/boot_file\.rb:\d+:in}m, boot("raise \"broken\""))
  end

  test "a topic outside of routes.draw is refused with where it belongs" do
    assert_equal "penstock: penstock.rb:3: topic belongs in the block of routes.draw: routes.draw { topic … } (NoMethodError)",
      boot(<<~RUBY).lines.first.chomp
        class FirstDayApp < Penstock::App
          default false
          topic(:orders) { nil }
        end
      RUBY
  end

  test "a boot file without an application is refused with what to write" do
    assert_equal "penstock: #{@dir}/penstock.rb: defines no application. Write `class PenstockApp < Penstock::App`, with " \
                 "`setup` and `routes.draw`\n", boot("# nothing\n")
  end

  test "a missing boot file is refused with the places and the command that writes one" do
    assert_equal 1, Penstock::CLI.start(["routes"], @context)
    assert_equal <<~TEXT, @err.string
      penstock: there is no boot file. Looked for:
        #{@dir}/penstock.rb
        #{@dir}/config/penstock.rb

      `penstock install` writes one here; set PENSTOCK_BOOT_FILE to use one elsewhere.
    TEXT
  end

  # Command => what is printed.
  WORDS = {
    %w[sever] => 'there is no command "sever". Did you mean `penstock server`?',
    %w[topics crate x] => 'there is no command "topics crate". Did you mean `penstock topics create`?',
    %w[server --concurency 3] => "server: there is no option --concurency. `penstock server --help` lists the options.",
    %w[topics delete] => "topics delete: an argument is missing. Usage: penstock topics delete NAME… [options]",
    %w[why orders] => "why: an argument is missing. Usage: penstock why TOPIC PARTITION OFFSET [options]"
  }.freeze

  WORDS.each do |words, text|
    test "penstock #{words.join(" ")} is refused with its way out" do
      assert_equal 1, Penstock::CLI.start(words, @context)
      assert_equal "penstock: #{text}\n", @err.string
    end
  end

  test "an error of the connection is printed with what to check; a mere timeout isn't explained" do
    {"127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT) (late)" =>
       ". Nothing listens there: check that the broker runs and that this is its port\n",
     "127.0.0.1:1: no answer within 5 ms" => "(transport)\n"}.each do |message, ending|
      error = Penstock::KafkaError.build(number: -195, name: "_TRANSPORT", message: message)
      Penstock::CLI::Failure.new(error, @context).report

      assert_operator @err.string, :end_with?, ending
    end
  end

  test "an error of the cluster is printed with what can be done" do
    error = Penstock::KafkaError.build(number: 29, name: "TOPIC_AUTHORIZATION_FAILED", message: "orders: not authorized")

    assert_equal 1, Penstock::CLI::Failure.new(error, @context).report
    assert_equal "penstock: orders: not authorized (topic_authorization_failed). Grant this user READ on the topic to consume " \
                 "from it, WRITE to produce to it, CREATE to create it, DELETE to delete it, DESCRIBE_CONFIGS and " \
                 "ALTER_CONFIGS for its settings\n", @err.string
  end

  private

  # @return [String] what is printed
  def boot(text)
    File.write(File.join(@dir, "penstock.rb"), text)
    assert_equal 1, Penstock::CLI.start(["routes"], @context)
    @err.string
  end
end
