# frozen_string_literal: true

require "test_helper"
require "support/whole_application"
require_relative "whole_application_contract"

module Penstock
  class WholeApplicationInMemoryTest < TestCase
    include TestSupport::WholeApplication

    include WholeApplicationContract

    def topic(name) = name

    def consume(topic, payloads, seen, &routes)
      @application = application(&routes)
      @kit = Testing::Kit.new(self).open
      payloads.each { |payload| @kit.produce(payload, topic: topic) }
      @committed = @kit.consume_all.committed
      assert seen.call
    end

    def again(seen)
      @kit.crash
      @committed = @committed.merge(@kit.consume_all.committed)
      assert seen.call
    end

    def committed_of(topic) = @committed.fetch(["shop", topic, 0])

    def penstock_application = @application

    def teardown
      @kit&.close
      super
    end
  end
end
