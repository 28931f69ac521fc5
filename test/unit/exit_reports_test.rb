# frozen_string_literal: true

require "test_helper"
require "support/ruby_program"

module Penstock
  class ExitReportsTest < TestCase
    PROGRAM = <<~RUBY
      require "penstock"
      require "penstock/exit_reports"
      at_exit { puts "closed" }
      module Penstock
        2.times { |number| ExitReports.add { puts "report \#{number}" } }
      end
    RUBY

    test "reports are made after the handlers of at_exit that were registered since the file was loaded" do
      out, result = TestSupport::RubyProgram.run(PROGRAM)
      assert_equal ["ended with exit code 0", %w[closed report\ 0 report\ 1]], [result.to_s, out.lines(chomp: true)]
    end
  end
end
