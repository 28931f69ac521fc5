# frozen_string_literal: true

require "test_helper"
require_relative "swarm_contract"

module Penstock
  class ForkedSwarmTest < TestCase
    include SwarmContract

    def spawner = "forked"

    SwarmContract.add_to(self)
  end
end
