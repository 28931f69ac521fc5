# frozen_string_literal: true

require "test_helper"
require "penstock/native/heap"

module Penstock
  module Native
    # From Ruby, where all other code uses malloc too; core/heap_test.c tests which pieces are allocated.
    class HeapTest < TestCase
      test "free pieces are allocated once" do
        first, second = Heap.fill, Heap.fill

        assert_operator first, :>=, 0
        assert_operator second, :<=, [first, 65_536].max
      end
    end
  end
end
