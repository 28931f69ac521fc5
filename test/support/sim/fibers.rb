# frozen_string_literal: true

require "penstock/testing/memory/sleeper"

module Penstock
  module TestSupport
    module Sim
      # A fiber that sleeps on the timeline where a thread would sleep: a poll loop, or a worker with its unit.
      class Sleeper < Testing::Memory::Sleeper
        # Users' code runs in the block.
        def users = yield

        # @return [Pools::Member, nil] the process of a pool in which it runs
        def member = nil
      end
    end
  end
end
