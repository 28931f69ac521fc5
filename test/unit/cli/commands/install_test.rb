# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "fileutils"
require "open3"
require "penstock/cli"

class InstallTest < Penstock::TestCase
  FILES = %w[app/consumers/application_consumer.rb app/consumers/example_consumer.rb penstock.rb].freeze

  def setup
    @dir = @folder = File.realpath(Dir.mktmpdir("install"))
    @env = {}
  end

  def teardown
    FileUtils.remove_entry(@folder)
  end

  test "[install] an empty folder gets a boot file, two consumers and a folder for logs, and each is reported" do
    said = install

    assert_equal FILES, files
    assert File.directory?(File.join(@dir, "log"))
    FILES.each { |file| assert_includes said, "created: #{file}" }
  end

  test "[install] the written files are valid Ruby" do
    install

    FILES.each { |file| assert RubyVM::InstructionSequence.compile(read(file)) }
  end

  test "[install] existing files are not changed, and this is reported" do
    FileUtils.mkdir_p(File.join(@dir, "app/consumers"))
    File.write(File.join(@dir, "penstock.rb"), "mine")
    File.write(File.join(@dir, "app/consumers/example_consumer.rb"), "mine too")
    said = install

    assert_equal ["mine", "mine too"], [read("penstock.rb"), read("app/consumers/example_consumer.rb")]
    assert_includes said, "exists, left as it is: penstock.rb"
    assert_includes said, "created: app/consumers/application_consumer.rb"
  end

  test "[install] a file or folder that can't be created is named" do
    File.write(File.join(@dir, "app"), "a file")
    found = refused
    @env["PENSTOCK_BOOT_FILE"] = "#{"a" * 300}.rb"

    assert_equal "penstock: install: #{@dir}/app/consumers can't be created: File exists. Repeat the command when it can: what " \
      "it has created stays\n", found
    assert_match(/\Apenstock: install: [^ ]*aaa.rb can't be created: File name too long\. Repeat/, refused)
  end

  test "[install] a second run changes nothing" do
    install
    before = files.to_h { |file| [file, read(file)] }
    said = install

    refute_includes said, "created"
    assert_equal before, files.to_h { |file| [file, read(file)] }
  end

  test "[install] the Rails variant is written if the lockfile has Rails" do
    File.write(File.join(@dir, "Gemfile.lock"), "GEM\n  specs:\n    rails (7.1.0)\n      actionpack (= 7.1.0)\n")
    install

    assert_equal %w[app/consumers/application_consumer.rb app/consumers/example_consumer.rb config/penstock.rb], files
    files.each { |file| assert RubyVM::InstructionSequence.compile(read(file)) }
    refute_includes read("config/penstock.rb"), "require"
    assert_includes read("bin/penstock"), 'Gem.bin_path("penstock", "penstock")'
    assert File.executable?(File.join(@dir, "bin/penstock"))
  end

  test "[install] a Rails application with a boot file in its root gets no second one" do
    File.write(File.join(@dir, "penstock.rb"), "mine")

    assert_includes install("--rails"), "exists, left as it is: penstock.rb"
    refute_includes files, "config/penstock.rb"
  end

  test "[install] a gem that merely depends on Rails or resembles it is not Rails" do
    File.write(File.join(@dir, "Gemfile.lock"), "GEM\n  specs:\n    rails-html-sanitizer (1.6.0)\n      rails (>= 5)\n")
    install

    assert_equal FILES, files
  end

  test "[install] --rails and --no-rails override the lockfile" do
    install("--rails")
    assert_includes files, "config/penstock.rb"

    FileUtils.rm(File.join(@dir, "config/penstock.rb"))
    File.write(File.join(@dir, "Gemfile.lock"), "GEM\n  specs:\n    rails (7.1.0)\n")
    install("--no-rails")
    assert_equal FILES, files
  end

  test "[install] a boot file elsewhere gets its folders and finds the root from there" do
    @env["PENSTOCK_BOOT_FILE"] = "config/kafka/penstock.rb"
    install

    assert_includes files, "config/kafka/penstock.rb"
    assert_includes read("config/kafka/penstock.rb"), 'File.expand_path("../..", __dir__)'
  end

  test "[install] a boot file of a Rails application that isn't in config loads Rails itself" do
    @env["PENSTOCK_BOOT_FILE"] = "kafka/penstock.rb"
    install("--rails")

    assert_includes read("kafka/penstock.rb"), 'require File.join(File.expand_path("..", __dir__), "config/environment")'
    assert RubyVM::InstructionSequence.compile(read("kafka/penstock.rb"))
  end

  test "[install] the application is named after its folder, in characters that Kafka accepts" do
    @dir = File.join(@dir, "my shöp")
    Dir.mkdir(@dir)
    install

    assert_includes read("penstock.rb"), 'config.group_id = "my_sh_p"'
    assert_equal "my_application", Penstock::CLI::Templates.application_name("/")
  end

  test "[install] the gem contains the templates" do
    root = File.expand_path("../../../..", __dir__)
    packed = Dir.chdir(root) { Gem::Specification.load("penstock.gemspec").files }

    assert_equal Dir[File.join(root, "lib/penstock/cli/templates/*")].map { |path| path.delete_prefix("#{root}/") }.sort,
      packed.grep(%r{cli/templates/}).sort
  end

  test "[install] no placeholder is left in the written files" do
    install("--rails")
    install("--no-rails")
    written = [*FILES, "config/penstock.rb", "bin/penstock"]

    written.each { |file| refute_match(/ROOT_FOLDER|APPLICATION|CONSUMER|TOPIC/, read(file)) }
  end

  private

  def install(*argv)
    out = StringIO.new
    context = Penstock::CLI::Context.new(stdin: StringIO.new, stdout: out, stderr: $stderr, env: @env, dir: @dir)
    assert_equal 0, Penstock::CLI.start(["install", *argv], context)
    out.string
  end

  # @return [String] the error
  def refused
    err = StringIO.new
    context = Penstock::CLI::Context.new(stdin: StringIO.new, stdout: StringIO.new, stderr: err, env: @env, dir: @dir)
    assert_equal 1, Penstock::CLI.start(["install"], context)
    err.string
  end

  def files
    Dir.chdir(@dir) { Dir["**/*.rb"].sort }
  end

  def read(file)
    File.read(File.join(@dir, file))
  end
end
