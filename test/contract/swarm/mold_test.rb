# frozen_string_literal: true

require "test_helper"
require_relative "swarm_contract"

module Penstock
  class MoldSwarmTest < TestCase
    include SwarmContract

    def spawner = "mold"

    SwarmContract.add_to(self)
  end
end
