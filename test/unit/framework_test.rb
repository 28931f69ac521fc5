# frozen_string_literal: true

require "test_helper"
require "support/ruby_program"

# Constants that are loaded on first use.
class FrameworkTest < Penstock::TestCase
  test "an application that is defined loads no constant by halves: its first use loads the whole" do
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock"
      class OrdersConsumer < Penstock::BaseConsumer
        def consume = nil
      end
      class PenstockApp < Penstock::App
        setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
        routes.draw do
          delay_topics
          topic(:orders) { consumer OrdersConsumer }
        end
      end
      PenstockApp.application.validate!
      on_demand = Penstock.module_eval("ON_DEMAND")
      defined = on_demand.select { |name, _path| Penstock.const_defined?(name, false) && !Penstock.autoload?(name) }
      puts defined.reject { |_name, path| $LOADED_FEATURES.any? { |file| file.end_with?("/\#{path}.rb") } }.keys
    RUBY

    assert result.success?, output
    assert_empty output
  end

  test "using one constant first loads no other by halves" do
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock"
      on_demand = Penstock.module_eval("ON_DEMAND")
      on_demand.each_key do |first|
        ::Process.wait(fork do
          Penstock.const_get(first)
          others = on_demand.select { |name, _path| Penstock.const_defined?(name, false) && !Penstock.autoload?(name) }
          halves = others.reject { |_name, path| $LOADED_FEATURES.any? { |file| file.end_with?("/\#{path}.rb") } }
          puts "\#{first} loads a part of \#{halves.keys.join(", ")}" if halves.any?
          exit!(0) if $stdout.flush
        end)
      end
    RUBY

    assert result.success?, output
    assert_empty output
  end
end
