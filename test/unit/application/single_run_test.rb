# frozen_string_literal: true

require "test_helper"
require "open3"
require "penstock/application"
require "penstock/application/single_run"

module Penstock
  class SingleRunTest < TestCase
    # Runs until it is stopped, or returns as the test requires.
    class Runner
      prepend Application::SingleRun

      attr_reader :begun

      def initialize(&work)
        @begun = Thread::Queue.new
        @ending = Thread::Queue.new
        @work = work || -> { @ending.pop }
      end

      def run!(traps: true)
        @begun << true
        @work.call
      end

      def swarm! = run!(traps: false)
      def stop! = @ending << 0
    end

    test "a second run raises an error that names the first; the first can still be stopped" do
      runner = Runner.new
      first, line = Thread.new { runner.run!(traps: false) }, __LINE__
      runner.begun.pop
      %i[run! swarm!].each do |name|
        error = assert_raises(ConfigurationError) { runner.public_send(name) }
        assert_match(/\A#{name}: this application runs already, since it was started at #{__FILE__}:#{line}\D/, error.message)
        assert_includes error.message, "stop that run with stop!"
      end
      runner.stop!

      assert_equal 0, first.value
      assert_match(/has run in this process \(.*#{line}.*\) and has ended/,
        assert_raises(ConfigurationError) { runner.run! }.message)
    end

    test "a run that was refused for its configuration may be tried again" do
      tries = [-> { raise ConfigurationError, "no topics" }, -> { 0 }]
      runner = Runner.new { tries.shift.call }

      assert_raises(ConfigurationError) { runner.run!(traps: false) }
      assert_equal 0, runner.run!(traps: false)
    end

    test "a process forked from one that runs may run it too" do
      runner = Runner.new { 0 }
      runner.run!(traps: false)
      pid = ::Process.fork { exit!(runner.run!(traps: false) + 7) }

      assert_equal 7, ::Process.wait2(pid).last.exitstatus
    end

    # The process's last line, whether the unused code is reported, and the process's own exit code.
    {
      "app.run!" => [true, 0],
      "app.run!; exit" => [true, 0],
      "exit app.run!" => [false, 2],
      "app.run!; exit 1" => [false, 1],
      "app.run!; raise 'x'" => [false, 1],
      "app.run!(traps: false)" => [false, 0],
      "app.result = 0; app.run!" => [false, 0]
    }.each do |line, (noted, code)|
      test "#{line}: the code of a failed run is #{noted ? "reported" : "used, or none of its business"}" do
        _out, errors, status = Open3.capture3(RbConfig.ruby, "-I#{LIB}", "-e", PROGRAM + line)
        text = errors[/^penstock: run! returned 2, .*Write `exit PenstockApp.run!`/]

        assert_equal [noted, code], [!text.nil?, status.exitstatus], errors
      end
    end

    LIB = File.expand_path("../../../lib", __dir__)
    PROGRAM = <<~RUBY
      require "penstock/application/single_run"
      class Runner
        prepend Penstock::Application::SingleRun
        attr_accessor :result
        def run!(traps: true) = result || 2
      end
      app = Runner.new
    RUBY
  end
end
