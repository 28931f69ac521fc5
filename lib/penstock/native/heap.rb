# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # Fills the free memory of C's malloc before a process is forked many times: see `ext/penstock_core/core/heap.h`.
    #
    # Defined in the extension: `fill` → bytes that were free in small pieces and are now allocated permanently; 0 where this
    # isn't supported (glibc supports it, from 2.33 on).
    module Heap
    end
  end
end
