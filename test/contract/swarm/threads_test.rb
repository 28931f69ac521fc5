# frozen_string_literal: true

require "test_helper"
require_relative "swarm_contract"

module Penstock
  class ThreadsSwarmTest < TestCase
    include SwarmContract

    def births = "threads"

    SwarmContract.add_to(self)
  end
end
