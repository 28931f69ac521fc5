# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/testing/kit"
require "penstock/testing/memory/runner"
require "support/whole_application"

module Penstock
  # A whole application on the in-memory Kafka: the end of a partition is announced once, in consume or by the hook.
  class FeederAnnouncedEndsTest < TestCase
    include TestSupport::WholeApplication

    # @return [Array] the offsets of each call of consume in which `eofed?` was true, and :eofed for each call of the hook
    def ends(count, **headers, &route)
      log = []
      consumer = Class.new(BaseConsumer) do
        define_method(:consume) { log << messages.last.offset if eofed? }
        define_method(:eofed) { log << :eofed }
      end
      whole(orders(consumer, &route)) do |kit|
        count.times { |index| kit.produce(index.to_s, topic: :orders, **headers) }
        kit.consume_all
      end
      log
    end

    test "in order by the call that has the last record, also if its unit has several calls" do
      assert_equal [299], ends(300) {
        eofed true
        max_messages 7
      }
      assert_equal [299], ends(300) {
        eofed true
        max_messages 1
      }
    end

    test "with parallel keys by the hook, after the records" do
      found = ends(20, key: "a") {
        eofed true
        parallel by: :key
      }
      assert_equal [1, :eofed], [found.count(:eofed), found.last]
    end
  end
end
