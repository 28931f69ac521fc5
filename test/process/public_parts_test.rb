# frozen_string_literal: true

require "test_helper"
require "support/ruby_program"

# Constants of Penstock are loaded when they are first named. A part that a user requires by itself must not define one
# of them partially: nobody would load the rest.
class PublicPartsTest < Penstock::TestCase
  PARTS = %w[testing/cluster testing/buffered_client testing/fatal_errors testing/minitest testing/rspec monitors/datadog_producer
    monitors/stats_d monitors/open_telemetry_metrics monitors/yabeda monitors/app_signal monitors/error_tracker].freeze
  PROGRAM = <<~RUBY
    require "penstock"
    require "penstock/PART"
    module Penstock
      names = ON_DEMAND.select { |name, _path| const_defined?(name, false) && !autoload?(name) }
      print names.reject { |_name, path| $LOADED_FEATURES.any? { |file| file.end_with?("/lib/\#{path}.rb") } }.keys
    end
  RUBY

  PARTS.each do |part|
    test "penstock/#{part} defines no constant partially" do
      output, result = Penstock::TestSupport::RubyProgram.run(PROGRAM.sub("PART", part))

      assert_predicate result, :success?, output
      assert_equal "[]", output
    end
  end

  # Each constant in a process of its own. The other threads ask as soon as anything of it is there.
  test "each constant may be used first by many threads at once" do
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock"
      $VERBOSE = true
      look = ->(one) { [one.instance_methods.sort, one.private_instance_methods.sort, one.singleton_methods.sort, one.constants.sort] }
      (Penstock.module_eval("ON_DEMAND").keys - [:ActiveJob]).each do |name|
        ::Process.wait(fork do
          others = nil
          trace = TracePoint.new(:class) do |point|
            next if others || !point.self.name.to_s.start_with?("Penstock::")
            others = Array.new(19) { Thread.new { look.call(Penstock.const_get(name)) } }
            Thread.pass until others.all? { |thread| thread.stop? || !thread.alive? }
          end
          whole = trace.enable { Penstock.const_get(name) }
          halves = others.to_a.map(&:value).count { |seen| seen != look.call(whole) }
          puts "\#{name}: \#{halves} threads saw a part of it" if halves.positive?
        rescue Exception => error
          puts "\#{name}: \#{error.full_message(highlight: false)}"
        ensure
          $stdout.flush
          exit!(0)
        end)
      end
    RUBY

    assert_predicate result, :success?, output
    assert_empty output
  end

  # The second thread asks at the moment at which the module exists and most of it is missing.
  test "a thread that uses Penstock::Outbox while another one loads it waits until it is complete" do
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock"
      second = nil
      trace = TracePoint.new(:class) do |point|
        next if second || point.self.name != "Penstock::Outbox"
        second = Thread.new { Penstock::Outbox.singleton_methods }
        Thread.pass until second.stop?
      end
      trace.enable { Penstock::Outbox }
      print second.value == Penstock::Outbox.singleton_methods
    RUBY

    assert_predicate result, :success?, output
    assert_equal "true", output
  end

  ["", "require 'penstock'; "].each do |before|
    test "require 'penstock/outbox' loads it without a warning, after: #{before.inspect}" do
      output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
        $VERBOSE = true
        #{before}require "penstock/outbox"
        print Penstock::Outbox.respond_to?(:enqueue)
      RUBY

      assert_predicate result, :success?, output
      assert_equal "true", output
    end
  end

  test "Penstock::Admin has the application's cluster, also where Penstock itself has loaded it before" do
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock/admin"
      require "penstock"
      require "penstock/testing/cluster"
      Penstock::Testing::Cluster.start(topics: {"orders" => 2}) do |cluster|
        Class.new(Penstock::App) { setup { |config| config.kafka = cluster.kafka } }
        print Penstock::Admin.topics
      end
    RUBY

    assert_predicate result, :success?, output
    assert_equal '{"orders"=>2}', output.delete(" ")
  end

  test "Penstock::Admin has the application's cluster in an application with dead letters, which loads it itself" do
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock"
      require "penstock/runtime/letter_topics"
      require "penstock/testing/cluster"
      Penstock::Testing::Cluster.start(topics: {"orders" => 2}) do |cluster|
        Class.new(Penstock::App) { setup { |config| config.kafka = cluster.kafka } }
        print Penstock::Admin.topics
      end
    RUBY

    assert_predicate result, :success?, output
    assert_equal '{"orders"=>2}', output.delete(" ")
  end

  test "the commands of Penstock::Admin are available next to an embedded broker" do
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock"
      require "penstock/testing/cluster"
      Penstock::Testing::Cluster.start(topics: {"orders" => 2}) do |cluster|
        Class.new(Penstock::App) { setup { |config| config.kafka = cluster.kafka } }
        Penstock::Admin.create_topic("events", partitions: 3)
        print Penstock::Admin.topics.sort
      end
    RUBY

    assert_predicate result, :success?, output
    assert_equal '[["events", 3], ["orders", 2]]', output
  end
end
