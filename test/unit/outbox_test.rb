# frozen_string_literal: true

require "test_helper"
require "support/ruby_program"

class OutboxTest < Penstock::TestCase
  test "requiring it loads it, with Penstock, also after one of its parts" do
    ["", 'require "penstock"', 'require "penstock/outbox/store"'].each do |before|
      output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
        #{before}
        require "penstock/outbox"
        print Penstock::Outbox.respond_to?(:enqueue), Penstock.respond_to?(:producer)
      RUBY

      assert_predicate result, :success?, output
      assert_equal "truetrue", output, before
    end
  end
end
