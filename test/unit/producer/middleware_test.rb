# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/middleware"

class ProducerMiddlewareTest < Penstock::TestCase
  def step(name)
    ->(message) { message.merge(path: [*message[:path], name]) }
  end

  test "[Middleware order] prepended steps run before appended ones, each once" do
    middleware = Penstock::Producer::Middleware.new
    middleware.append(step(:second)).prepend(step(:first)).append(step(:third))

    assert_equal %i[first second third], middleware.run({})[:path]
  end

  test "middleware without steps returns the message unchanged" do
    middleware = Penstock::Producer::Middleware.new
    message = {topic: "orders"}

    assert_predicate middleware, :empty?
    assert_same message, middleware.run(message)
  end
end
