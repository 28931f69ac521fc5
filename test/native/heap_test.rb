# frozen_string_literal: true

require "test_helper"
require "penstock/native/heap"

module Penstock
  module Native
    # From Ruby, where malloc is used by everything else too; what is taken and what isn't is in core/heap_test.c.
    class HeapTest < TestCase
      test "free pieces are taken once" do
        first, second = Heap.fill, Heap.fill

        assert_operator first, :>=, 0
        assert_operator second, :<=, [first, 65_536].max
      end
    end
  end
end
