# frozen_string_literal: true

require "test_helper"
require "docs/support/page"
require "support/free_port"
require "support/rails_application"

# Follows the section "The first order" of docs/rails.md, word for word, in an empty folder. Only ports and the options of
# `rails new` are others: those leave out what isn't needed, so that no gem has to be downloaded.
class RailsPageTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  PAGE = File.join(ROOT, "docs/rails.md")
  SECTION = File.read(PAGE)[/^## The first order\n.*?(?=^## )/m]
  # A command that doesn't end by itself.
  SERVER = "bin/rails server"
  OPTIONS = %w[
    --skip-bundle --skip-git --skip-bootsnap --skip-asset-pipeline --skip-javascript --skip-hotwire --skip-jbuilder --skip-test
    --skip-system-test --skip-docker --skip-keeps
  ].freeze
  NEWER_OPTIONS = %w[--skip-solid --skip-kamal --skip-thruster].freeze
  # Of the generated Gemfile, the gems that are here and needed.
  TEMPLATE = "gsub_file \"Gemfile\", /^(?!source|gem \"(?:rails|sqlite3|puma)\").*\\n/, \"\"\n"

  # These versions of Active Support can't write JSON with json 3, as the page explains.
  WITH_OLD_JSON = %w[7.1 8.0].freeze
  OLD_JSON = "append_to_file \"Gemfile\", %(gem \"json\", \"< 3\"\n)\n"

  def self.cluster = nil

  def setup
    super
    old = WITH_OLD_JSON.include?(VERSION)
    installed = Dir[File.join(GEMS.fetch("BUNDLE_PATH"), "**/gems/json-2*")]
    skip "no json 2 is installed for Rails #{VERSION}" if old && installed.empty?
    File.symlink(ROOT, File.join(@dir, "penstock"))
    @folder = @dir
    @http, @kafka = Penstock::TestSupport::FreePort.take(2)
    options = (VERSION.to_f < 8) ? OPTIONS : OPTIONS + NEWER_OPTIONS
    write("home/rails/railsrc", [*options, "--template=#{write("template.rb", old ? TEMPLATE + OLD_JSON : TEMPLATE)}"].join("\n"))
    command("rails", "BUNDLE_GEMFILE=#{GEMS.fetch("BUNDLE_GEMFILE")} exec bundle exec rails \"$@\"")
    bundle = "exec #{RbConfig.ruby} #{Gem.bin_path("bundler", "bundle")} \"$@\""
    command("bundle", "if [ \"$1\" = install ]; then set -- install --local; fi; #{bundle}")
  end

  def command(name, text)
    path = write("commands/#{name}", "#!/bin/sh\n#{text}\n")
    File.chmod(0o755, path)
  end

  def environment
    CLEAN.merge("BUNDLE_PATH" => GEMS.fetch("BUNDLE_PATH"), "BUNDLE_SILENCE_ROOT_WARNING" => "1",
      "PATH" => "#{File.join(@dir, "commands")}:#{ENV.fetch("PATH")}", "XDG_CONFIG_HOME" => File.join(@dir, "home"),
      "PORT" => @http.to_s, "KAFKA_BOOTSTRAP_SERVERS" => "127.0.0.1:#{@kafka}", "PWD" => nil)
  end

  def examples
    first = File.readlines(PAGE).index { |line| line.start_with?("## The first order") }
    Penstock::DocsTest::Page.new(PAGE, "rails.md").examples.select { |example| example.line.between?(first, first + SECTION.lines.size) }
  end

  # A block of Ruby names its file in its first line; what belongs in the Gemfile is added to it.
  def write_file(example)
    path = File.join(@folder, example.code[/\A# (\S+)$/, 1])
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, "#{example.code}\n", mode: path.end_with?("Gemfile") ? "a" : "w")
  end

  def shell(example)
    example.code.lines(chomp: true).each do |line|
      if line.start_with?("cd ") then @folder = File.join(@folder, line.delete_prefix("cd "))
      elsif line == SERVER then start_server
      else run_line(line.sub("127.0.0.1:3000", "127.0.0.1:#{@http}"))
      end
    end
  end

  def run_line(line)
    output, status = Open3.capture2e(environment, "sh", "-c", line, chdir: @folder)
    assert status.success?, "#{line}\n#{output}"
  end

  def start_server
    @server = started(Penstock::TestSupport::Served::Process.new(SERVER.split, dir: @folder, env: environment))
    @server.await_log(/Use Ctrl-C/)
  end

  test "[first order] the commands of the page, in an empty folder: an order placed over HTTP is consumed" do
    examples.each { |example| (example.language == "ruby") ? write_file(example) : shell(example) }
    consumed = SECTION[/^```text\n(.*?)\n```/m, 1]
    @server.await("the line of the page", 60) { @server.log.include?(consumed) }
    @server.signal(:INT)
    @server.code(60)

    assert_equal 1, @server.log.scan(consumed).size
    assert_includes @server.log, "stopped: all groups are left"
    refute_match(/a listener raised|error/i, @server.log.gsub(/librdkafka.*Connection refused.*/, ""))
  end

  test "[first order] the page has three commands after rails new, and one that places an order" do
    commands = examples.select { |example| example.language == "sh" }.map { |example| example.code.lines.size }

    assert_equal [2, 3, 1], commands
    assert_match(/\Arails new \w+\ncd \w+\z/, examples.first.code)
  end
end
