# frozen_string_literal: true

require "test_helper"
require "support/cut_connections"

module Penstock
  # The short form; test/ledger has one of two minutes.
  class CutConnectionsTest < TestCase
    include TestSupport::CutConnections

    test "connections that are cut each second lose nothing, duplicate nothing and change no key's order" do
      produced_while_cut(4)
    end
  end
end
