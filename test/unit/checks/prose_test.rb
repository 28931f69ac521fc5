# frozen_string_literal: true

require "test_helper"
require_relative "../../checks/prose"

module Penstock
  # Which texts bin/check prose reads, and which phrases it refuses.
  class ProseCheckTest < TestCase
    def problems(path, source, exceptions: [])
      Checks::Prose.new({path => source}, exceptions: exceptions).call.problems
    end

    test "a refused phrase is reported with its line and with the words to use" do
      assert_equal ['lib/a.rb:2 "beside": write alongside, next to, at the same time as'],
        problems("lib/a.rb", "# A class.\n# It runs beside another.\nclass A; end\n")
    end

    test "a phrase that is wrapped is found" do
      assert_equal 1, problems("lib/a.rb", "# The loop goes\n# on.\n").size
      assert_equal 1, problems("ext/a.c", "/* The loop goes\n * on. */\n").size
    end

    test "messages of the library are read, and names of tests, but not the data of tests" do
      assert_equal 1, problems("lib/a.rb", "raise Error, \"the broker told us\"\n").size
      assert_equal 1, problems("test/a_test.rb", "test \"the broker told us\" do\n  log(\"the broker told us\")\nend\n").size
      %w[tells telling retold].each { |word| assert_equal 1, problems("lib/a.rb", "# It #{word} the loop.\n").size, word }
      assert_equal 1, problems("lib/a.rb", "# @param tell [#call]\ndef a(tell) = 1\n").size
      assert_empty problems("lib/a.rb", "told = beside(:anew)\nlog(\"told\")\n")
    end

    test "code in a page or in a comment is not read, comments in a page's code are" do
      assert_empty problems("docs/a.md", "Call `told` first.\n\n```ruby\nputs \"told\"\n```\n")
      assert_equal 1, problems("docs/a.md", "```ruby\nx = 1 # is told later\n```\n").size
    end

    test "a sentence may ask who or what, but may not begin with a clause as its subject" do
      assert_empty problems("lib/a.rb", "# What happens then? Nothing.\n")
      assert_equal 1, problems("lib/a.rb", "# What the loop holds.\n").size
    end

    test "an exception covers its line only, and one that is not needed is a problem" do
      row = {"file" => "lib/a.rb", "text" => "behind a proxy", "reason" => "a place"}
      assert_empty problems("lib/a.rb", "# Brokers behind a proxy.\n", exceptions: [row])
      assert_equal ["prose_exceptions.yml: lib/a.rb \"behind a proxy\" is no longer needed"],
        problems("lib/a.rb", "# Brokers.\n", exceptions: [row])
    end
  end
end
