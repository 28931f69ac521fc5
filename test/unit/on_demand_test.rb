# frozen_string_literal: true

require "test_helper"
require "support/ruby_program"

# Classes that are loaded on first use, which may be in several threads at once.
class OnDemandTest < Penstock::TestCase
  # While a thread loads a class, in the middle of one of its files, the main thread uses it. The thread continues when the main
  # thread waits for it, or has used an incomplete class.
  def used_while_another_thread_loads(file, load:, use:)
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock"
      reached, main, using, used = Queue.new, Thread.current, false, false
      TracePoint.new(:class) do |point|
        next if using || !point.path.end_with?("penstock/#{file}.rb")

        reached << true
        Thread.pass until using && (main.stop? || used)
      end.enable
      thread = Thread.new { #{load} }
      reached.pop
      using = true
      answer = begin
        #{use}
      rescue => error
        error.message
      end
      used = true
      thread.join
      p answer
    RUBY

    assert result.success?, output
    output
  end

  test "a producer that is created while the application's thread loads the class is complete" do
    created = used_while_another_thread_loads("producer/variant_scope",
      load: %(require "penstock/application/own_producer"; Penstock::Application::OwnProducer.allocate.send(:close_at_exit)),
      use: %(Penstock::Producer.new { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }.respond_to?(:produce_sync)))

    assert_equal "true\n", created
  end

  test "an Admin that is created while the application's thread loads the class is complete" do
    created = used_while_another_thread_loads("admin/session",
      load: %(require "penstock/runtime/boot_topics"),
      use: %(Penstock::Admin.new(kafka: {"bootstrap.servers": "127.0.0.1:1"}).respond_to?(:topics)))

    assert_equal "true\n", created
  end

  test "threads that need the same class for the first time, one of them for another class, don't wait for each other" do
    complete = used_while_another_thread_loads("messages/message",
      load: %(Penstock::Iterator), use: %(Penstock::Messages.method_defined?(:each)))

    assert_equal "true\n", complete
  end

  test "every constant of the list is defined by its file" do
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock"
      missing = Penstock.module_eval("ON_DEMAND").except(:ActiveJob).reject do |name, path|
        Penstock.load_constant(name)
        $LOADED_FEATURES.any? { |file| file.end_with?("/\#{path}.rb") }
      end
      listeners = Penstock::Instrumentation.module_eval("ON_DEMAND").keys.map { |name| "Instrumentation::\#{name}" }
      Penstock.load_constant(*listeners)
      puts missing.keys
    RUBY

    assert result.success?, output
    assert_empty output
  end
end
