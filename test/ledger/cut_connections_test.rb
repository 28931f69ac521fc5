# frozen_string_literal: true

require "test_helper"
require "support/cut_connections"

module Penstock
  class LongCutConnectionsTest < TestCase
    include TestSupport::CutConnections

    test "two minutes of connections that are cut each second lose nothing, duplicate nothing and change no key's order" do
      produced_while_cut(120)
    end
  end
end
