# frozen_string_literal: true

require_relative "../native_member"

module Penstock
  module TestSupport
    module FaultRuns
      # A member of an application's group that gets none of its partitions: it subscribes to another, empty topic. When it
      # joins and when it leaves, the group rebalances. Used by one thread, which turns it.
      class Visitor
        # Properties that depend on the application's protocol are taken from the application.
        OWN = NativeMember::PROPERTIES.keys - %w[enable.auto.commit enable.auto.offset.store log_level]

        # @param run [Run]
        # @param application [Application]
        # @param topic [String]
        def initialize(run, application, topic)
          kafka = {"partition.assignment.strategy": "cooperative-sticky", **application.kafka}
          kafka.delete(:"partition.assignment.strategy") unless application.session_ms
          @member = NativeMember.new(run, topic, without: OWN, "group.id": application.group, **kafka.except(:"transactional.id"))
        end

        # Does what a member must do, for a time; afterwards only waits.
        # @param seconds [Numeric]
        def turn_for(seconds)
          @member ? @member.turn_for(seconds) : Wait.observe_for(seconds)
        end

        # Leaves the group. May be called again.
        def leave
          @member&.close
          @member = nil
        end
      end
    end
  end
end
