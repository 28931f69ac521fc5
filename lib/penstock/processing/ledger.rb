# frozen_string_literal: true

require_relative "../native/ledger"

module Penstock
  module Processing
    # Tracks which offsets of one owned partition are complete: the lowest incomplete offset, where the next take must begin,
    # and the complete offsets in between. Written in C, without a handle or a thread; tests compare it with a Ruby reference.
    Ledger = Native::Ledger
  end
end
