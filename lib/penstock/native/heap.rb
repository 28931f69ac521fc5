# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # What C's malloc has, before a process is forked into many: see `ext/penstock_core/core/heap.h`.
    #
    # Defined in the extension: `fill` → bytes that were free in small pieces and now never are; 0 where there is no such thing
    # (glibc has it, from 2.33 on).
    module Heap
    end
  end
end
