# frozen_string_literal: true

require "test_helper"
require "penstock/producer/middleware"

class ProducerMiddlewareTest < Penstock::TestCase
  def step(name)
    ->(message) { message.merge(path: [*message[:path], name]) }
  end

  test "[Middleware order] what is prepended runs before what is appended, each once" do
    middleware = Penstock::Producer::Middleware.new
    middleware.append(step(:second)).prepend(step(:first)).append(step(:third))

    assert_equal %i[first second third], middleware.run({})[:path]
    assert_equal [%i[first second third]] * 2, middleware.run_many([{}, {}]).map { |message| message[:path] }
  end

  test "an empty one hands back what it got" do
    middleware = Penstock::Producer::Middleware.new
    messages = [{topic: "orders"}]

    assert_predicate middleware, :empty?
    assert_same messages, middleware.run_many(messages)
  end
end
