# frozen_string_literal: true

require_relative "../native/ledger"

module Penstock
  module Processing
    # What is done and what isn't in one owned partition: the lowest incomplete offset, where the next take must begin, and what
    # is complete in between. Written in C, without a handle or a thread; a Ruby reference of the same is its oracle in tests.
    Ledger = Native::Ledger
  end
end
