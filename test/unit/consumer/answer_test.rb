# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/answer"

module Penstock
  class AnswerTest < TestCase
    test "the first answer counts, also false, and the waiting thread gets it" do
      answer = Consumer::Answer.new
      waiter = Thread.new { answer.wait(40) }
      answer.give(false)
      answer.give(true)
      assert_equal [false, false], [waiter.value, answer.wait(0)]
    end

    test "waiting returns nil after the timeout" do
      assert_nil Consumer::Answer.new.wait(0.001)
    end
  end
end
