# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/loop/group/membership"

module Penstock
  class MembershipTest < TestCase
    Topic = Struct.new(:pattern) { alias_method :pattern?, :pattern }
    Group = Struct.new(:consumer_protocol, :direct, :active_topics) do
      alias_method :consumer_protocol?, :consumer_protocol
      alias_method :direct?, :direct
    end
    Driver = Struct.new(:member_id, :generation) { def group_metadata = self }
    Session = Struct.new(:now, :epoch, :group, :driver, :missing)
    Missing = Struct.new(:names)
    Events = Struct.new(:refused, :tokenless) do
      alias_method :refused?, :refused
      alias_method :tokenless?, :tokenless
    end
    Rebalances = Struct.new(:lost) { alias_method :lost?, :lost }

    def setup
      @driver = Driver.new("", -1)
      @group = Group.new(false, false, [Topic.new(false)])
      @session = Session.new(0, 0, @group, @driver, Missing.new([]))
      @events = Events.new(false, false)
      @rebalances = Rebalances.new(false)
      @membership = Runtime::Membership.new(@session, @events, @rebalances)
    end

    def member_at?(now)
      @session.now = now
      @membership.run
      @membership.member?
    end

    test "an assignment proves it at once, and nothing has to be asked until partitions are lost" do
      @session.epoch = 1
      assert_predicate @membership, :member?
      assert member_at?(10_000)
      assert_nil @membership.next_due
      @rebalances.lost = true
      @membership.watch
      assert_equal 11_000, @membership.next_due
    end

    test "a client that the coordinator has never answered isn't a member, however long it lasts" do
      assert_equal [false, false], [member_at?(9_999), member_at?(600_000)]
      @driver.member_id = "me"
      refute member_at?(600_500), "it is asked once a second"
      assert member_at?(@membership.next_due)
    end

    test "under KIP-848, where the client makes its id itself, an answered heartbeat proves it" do
      @group.consumer_protocol = true
      @driver.member_id = "me"
      @driver.generation = 0
      refute member_at?(10_000)
      @driver.generation = 3
      assert member_at?(11_000)
      @driver.generation = 0
      refute member_at?(12_000), "the coordinator doesn't know it any more"
    end

    test "a member that loses its partitions remains one, unless the cluster refuses its login or a right" do
      @session.epoch = 1
      @rebalances.lost = true
      assert member_at?(20_000)
      @events.refused = true
      refute member_at?(21_000)
      @rebalances.lost = false
      assert_predicate @membership, :member?
    end

    test "a refusal alone changes nothing: the member still has its partitions" do
      @session.epoch = 1
      @events.refused = true
      assert member_at?(20_000)
    end

    test "where the topics don't exist, or nothing matches a pattern, or the route names the partitions, nobody has to join" do
      [-> { @session.missing.names = ["orders"] }, -> { @group.active_topics = [Topic.new(true)] }, -> { @group.direct = true }]
        .each do |given|
          setup
          given.call
          assert_equal [false, true], [member_at?(9_999), member_at?(10_000)]
          @events.refused = true
          refute member_at?(11_000)
        end
    end
  end
end
