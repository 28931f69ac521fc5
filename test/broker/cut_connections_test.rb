# frozen_string_literal: true

require "test_helper"
require "support/cut_connections"

module Penstock
  # In short; test/ledger has two minutes of it.
  class CutConnectionsTest < TestCase
    include TestSupport::CutConnections

    test "connections that are cut each second lose nothing, double nothing and change no key's order" do
      produced_while_cut(4)
    end
  end
end
