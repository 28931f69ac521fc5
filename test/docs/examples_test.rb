# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "support/page"
require_relative "../support/child"

# Runs every Ruby and shell example in the README and in docs/, page by page, against an embedded broker. An example that
# can't run here has the reason above its fence: `<!-- no-run: the reason -->`; their number is printed at the end.
class DocsExamplesTest < Penstock::TestCase
  ROOT = File.expand_path("../..", __dir__)
  PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", *Dir["docs/**/*.md", base: ROOT].sort].to_h do |name|
    [name, Penstock::DocsTest::Page.new(File.join(ROOT, name), name).examples]
  end.select { |_name, examples| examples.any? }.freeze
  RUNNER = File.expand_path("support/page_run.rb", __dir__)

  AT_ONCE = 3

  leaks_checked_per_class "pages run at the same time, most of their time is waiting"

  class << self
    attr_reader :results

    def before_all
      @results = {}
      pages = PAGES.select { |_name, examples| examples.any?(&:runs?) }.keys.sort_by { |name| -PAGES[name].size }
      Array.new(AT_ONCE) do
        Thread.new do
          while (name = pages.shift)
            @results[name] = run_page(name)
          end
        end
      end.each(&:join)
    end

    def after_all
      silent = PAGES.values.flatten.reject(&:runs?)
      puts "", "#{PAGES.values.flatten.size - silent.size} examples of #{PAGES.size} pages run, #{silent.size} not:"
      silent.each { |example| puts "  #{example.place} #{example.directive("no-run")}" }
    end

    private

    def run_page(name)
      reader, writer = IO.pipe
      collector = Thread.new { reader.read }
      command = [RbConfig.ruby, *$LOAD_PATH.first(6).map { |path| "-I#{path}" }, RUNNER, File.join(ROOT, name), name]
      result = Penstock::TestSupport::Child.run(command, timeout: 240, out: writer, err: writer)
      writer.close
      [result, collector.value]
    ensure
      [reader, writer].each(&:close)
    end
  end

  test "directives above examples are known, and no example is skipped without a reason" do
    assert_equal [], PAGES.values.flatten.flat_map(&:problems)
  end

  PAGES.each do |name, examples|
    next if examples.none?(&:runs?)

    test "the examples of #{name} run" do
      result, text = self.class.results.fetch(name)
      told = result.success? ? JSON.parse(text.lines.last) : {"failures" => ["#{name}: the page #{result}\n#{text}"]}

      assert told["failures"].empty?, told["failures"].join("\n")
      assert_equal examples.count(&:runs?), told["ran"]
    end
  end
end
