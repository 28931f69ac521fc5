# frozen_string_literal: true

require "test_helper"

module Penstock
  class WarningsTest < TestCase
    OURS = File.expand_path(__FILE__)

    def circular(file)
      "#{OURS}:1: warning: #{OURS}:1: warning: loading in progress, circular require considered harmful - #{file}\n\tfrom -e:1"
    end

    test "a warning about one of our files is an error" do
      error = assert_raises(RuntimeError) { Warning.warn("#{OURS}:1: warning: unused variable\n") }
      assert_match(/unused variable/, error.message)
    end

    test "a circular require is an error where the thread itself is loading the file, and none where another one did" do
      assert_raises(RuntimeError) { Warning.warn(circular(OURS)) }
      assert_silent { Warning.warn(circular(File.join(__dir__, "loaded_elsewhere.rb"))) }
    end
  end
end
