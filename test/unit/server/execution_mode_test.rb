# frozen_string_literal: true

require "test_helper"
require "penstock/server/execution_mode"

module Penstock
  class ExecutionModeTest < TestCase
    test "a mode is equal to its name as a Symbol or a String, and answers one predicate with true" do
      mode = Server::ExecutionMode.new(:embedded)

      assert_operator mode, :==, :embedded
      assert_operator mode, :==, "embedded"
      refute_equal mode, Server::ExecutionMode.new(:swarm)
      refute_operator mode, :==, nil
      assert_equal [false, true, false, false], Server::ExecutionMode::NAMES.map { |name| mode.public_send(:"#{name}?") }
      assert_equal ["embedded", :embedded], [mode.to_s, {embedded: :embedded}[mode.to_sym]]
    end
  end
end
