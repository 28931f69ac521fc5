# frozen_string_literal: true

require "test_helper"
require_relative "swarm_contract"

module Penstock
  class ThreadsSwarmTest < TestCase
    include SwarmContract

    def spawner = "threads"

    SwarmContract.add_to(self)
  end
end
