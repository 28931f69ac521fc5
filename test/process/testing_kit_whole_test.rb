# frozen_string_literal: true

require "test_helper"
require "json"
require "tmpdir"
require_relative "../support/ruby_program"

# Runs of whole applications in RSpec, and in Minitest with a database: suites in processes of their own.
class TestingKitWholeTest < Penstock::TestCase
  SUITES = File.expand_path("../support/testing_kit", __dir__)
  RSPEC = 'require "rspec/core"; exit RSpec::Core::Runner.run(["--no-color", "--format", "json", ARGV.first])'

  # @return [Hash{String => String}] messages of failed examples, by their descriptions
  def rspec(**env)
    output, = Penstock::TestSupport::RubyProgram.run(RSPEC, File.join(SUITES, "whole_spec.rb"), env: env, timeout: 60)
    report = JSON.parse(output.lines.find { |line| line.start_with?('{"version"') } || flunk(output))
    @count = report["summary"]["example_count"]
    report["examples"].select { |example| example["status"] == "failed" }
      .to_h { |example| [example["description"], example.dig("exception", "message")] }
  end

  test "[run matchers] matchers of runs in RSpec, with a chain" do
    assert_equal({}, rspec)
    assert_equal 1, @count
    assert_equal ["fails"], rspec("FAILING" => "1").keys
    assert_match(/\Aexpected the run to have dead-lettered orders with offset 0 after 3 attempts, but in it:\n  consumed:\n/,
      rspec("FAILING" => "1")["fails"])
  end

  test "[consume_all] runs inside of transactional fixtures, with failed attempts, a crash, and Rails' time helpers" do
    Dir.mktmpdir do |folder|
      output = Penstock::TestSupport::RubyProgram.run("load ARGV.first", File.join(SUITES, "whole_minitest.rb"), timeout: 60,
        env: {"DATABASE" => File.join(folder, "db.sqlite3")}).first

      assert_match(/^4 runs, \d+ assertions, 0 failures, 0 errors, 0 skips$/, output)
      assert_match(/^rows left: 0$/, output)
    end
  end
end
