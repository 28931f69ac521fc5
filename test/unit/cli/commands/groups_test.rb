# frozen_string_literal: true

require "test_helper"
require "json"
require "support/cluster_stand_in"

module Penstock
  # `penstock groups …`: what they show, what they refuse, and what they change after a yes.
  class GroupsCommandsTest < TestCase
    include TestSupport::ClusterStandIn

    MEMBER = {client_id: "shop-1", host: "/10.0.0.1", instance_id: nil, partitions: [["orders", 1], ["orders", 0]]}.freeze
    ROWS = [
      {group: "shop", topic: "orders", partition: 0, committed: 50, end: 100, lag: 50, incomplete: 40},
      {group: "shop", topic: "orders", partition: 1, committed: nil, end: 100, lag: nil, incomplete: nil}
    ].freeze

    def empty(group) = {group: group, state: "Empty", type: "Classic", assignor: "", coordinator: 2, members: []}
    def live(group) = {**empty(group), state: "Stable", members: [MEMBER]}

    def all_are(kind) = ->(names) { names.to_h { |name| [name, method(kind).call(name)] } }

    def cluster(**more)
      {groups: [{group: "shop", state: "Stable", type: "Classic"}, {group: "old", state: "Empty", type: "Consumer"}],
       group_lag: ->(_group, _topics = nil, **) { ROWS },
       group_infos: ->(names) { names.to_h { |name| [name, (name == "shop") ? live(name) : empty(name)] } },
       group_lags: ->(names) { names.to_h { |name| [name, (name == "shop") ? ROWS : kafka_error(:group_authorization_failed)] } },
       read_watermark_offsets: ->(topics) { topics.transform_values { |list| list.to_h { |one| [one, [0, 100]] } } },
       cluster_info: {brokers: [{id: 1}]}, describe_configs: kafka_error(:cluster_authorization_failed), **more}
    end

    def stopped(**more) = cluster(group_infos: all_are(:empty), **more)

    test "list: each group with its members and lag; what can't be read is a dash" do
      assert_equal ["group  state   type      members  lag", "old    Empty   Consumer        0    -",
        "shop   Stable  Classic         1   50"], run_on(cluster, "groups", "list").out.lines(chomp: true)
      assert_equal [nil, 50], JSON.parse(run_on(cluster, "groups", "list", "--json").out).map { |row| row["lag"] }
      assert_equal "no groups\n", run_on(cluster(groups: []), "groups", "list").out
    end

    test "show: state, members with partitions, offsets" do
      text = run_on(cluster(group_infos: all_are(:live)), "groups", "show", "shop").out

      assert_match(/\Agroup shop: Stable, type Classic, coordinator 2\n/, text)
      assert_match(/shop-1 +\/10\.0\.0\.1 +- +orders 0,1\n/, text)
      assert_match(/orders +0 +50 +100 +50 +40\n/, text)
    end

    test "a group that doesn't exist is an error that names it, however the cluster reports it" do
      [->(name) { {**empty(name), state: "Dead"} }, ->(_name) { kafka_error(:group_id_not_found) }].each do |dead|
        absent = cluster(group_infos: ->(names) { names.to_h { |name| [name, dead.call(name)] } }, group_lag: [],
          group_lags: ->(names) { names.to_h { |name| [name, []] } })
        [%w[show nowhere], %w[show nowhere --json], %w[delete nowhere --yes], %w[triage nowhere]].each do |words|
          found = run_on(absent, "groups", *words)

          assert_equal [1, []], [found.code, changes]
          assert_match(/\Athere is no group nowhere; `penstock groups list`/, found.err)
        end
      end
    end

    test "an argument that is empty is refused before anything is asked" do
      [["show", ""], ["copy", "shop", ""], ["reset", "shop", "--to", "1", "--topics", ""]].each do |words|
        assert_match(/empty/, run_on({}, "groups", *words).err)
      end
      assert_match(/--timeout must be at least 1, is 0/, penstock("groups", "list", "--timeout", "0").err)
    end

    test "reset: shows the offsets before and after, and moves them only with a yes" do
      shown = run_on(stopped, "groups", "reset", "shop", "--to", "earliest")
      assert_equal [1, []], [shown.code, changes]
      assert_match(/orders +0 +50 +0 +-50\norders +1 +- +0 +-\n/, shown.out)
      assert_equal "nothing was changed: pass --yes to change it\n", shown.err

      done = run_on(stopped, "groups", "reset", "shop", "--to", "earliest", "--yes")
      assert_equal [0, [[:seek_consumer_group, "shop", {"orders" => {0 => 0, 1 => 0}}]]], [done.code, changes]
      assert_includes done.out, "moved 2 offsets of group shop"
    end

    test "reset: by a number of records concerns partitions with a commit; partitions can be chosen" do
      run_on(stopped, "groups", "reset", "shop", "--by=-10", "--yes")
      assert_equal [[:seek_consumer_group, "shop", {"orders" => {0 => 40}}]], changes

      run_on(stopped, "groups", "reset", "shop", "--to", "7", "--partitions", "1", "--yes")
      assert_equal [[:seek_consumer_group, "shop", {"orders" => {1 => 7}}]], changes
    end

    test "reset: a partition that can't be moved is refused, with those that can; nothing is moved" do
      [["--to", "7", "0,9,-1", "9,-1", "0,1"], ["--by", "1", "1", "1", "0"]].each do |way, place, given, unknown, there|
        found = run_on(stopped, "groups", "reset", "shop", way, place, "--partitions", given, "--yes")

        assert_equal [1, []], [found.code, changes]
        assert_match(/--partitions #{unknown}: not among those that can be moved \(orders #{there}\)/, found.err)
      end
    end

    test "reset: refused with members, without commits, and without a place" do
      refused = run_on(cluster(group_infos: all_are(:live)), "groups", "reset", "shop", "--to", "latest", "--yes")
      assert_equal [1, []], [refused.code, changes]
      assert_match(/group shop has 1 member \(shop-1\): stop all its processes first; nothing was changed/, refused.err)

      assert_match(/group shop has no commits: name topics/,
        run_on(stopped(group_lag: []), "groups", "reset", "shop", "--to", "latest").err)
      assert_match(/give --to earliest/, run_on(stopped, "groups", "reset", "shop").err)
      assert_match(/--partitions "x" is not a number/,
        run_on(stopped, "groups", "reset", "shop", "--to", "1", "--partitions", "x").err)
    end

    test "copy: shows what is copied and what the target has, and copies with a yes" do
      answers = stopped(group_lag: ->(group, _topics = nil, **) { (group == "shop") ? ROWS : [{**ROWS[0], committed: 7}] })
      shown = run_on(answers, "groups", "copy", "shop", "shop2", typed: "no\n")
      assert_equal [1, []], [shown.code, changes]
      assert_match(/orders +0 +50 +7\n/, shown.out)

      run_on(answers, "groups", "copy", "shop", "shop2", "--topics", "orders", "--yes")
      assert_equal [[:copy_consumer_group, "shop", "shop2", ["orders"]]], changes
    end

    test "copy: refused if the target has members, if both are one, or if there is nothing" do
      assert_match(/group b has 1 member/, run_on(cluster(group_infos: all_are(:live)), "groups", "copy", "a", "b", "--yes").err)
      assert_match(/both groups are a/, run_on(stopped, "groups", "copy", "a", "a", "--yes").err)
      assert_match(/group a has no commits/, run_on(stopped(group_lag: []), "groups", "copy", "a", "b", "--yes").err)
      assert_match(/group a has no commits of x/, run_on(stopped, "groups", "copy", "a", "b", "--topics", "x", "--yes").err)
    end

    test "rename: copies and deletes with a yes; neither group may have members" do
      run_on(stopped, "groups", "rename", "shop", "store", "--yes")
      assert_equal [[:rename_consumer_group, "shop", "store"]], changes

      live_source = cluster(group_infos: ->(names) { names.to_h { |name| [name, (name == "shop") ? live(name) : empty(name)] } })
      assert_match(/group shop has 1 member/, run_on(live_source, "groups", "rename", "shop", "store", "--yes").err)
      assert_empty changes
    end

    test "delete: shows what is lost; if one group has members or doesn't exist, none is deleted" do
      assert_equal [1, []], [run_on(cluster, "groups", "delete", "old").code, changes]
      assert_equal [0, [[:delete_consumer_group, "old"]]], [run_on(cluster, "groups", "delete", "old", "--yes").code, changes]

      refused = run_on(cluster, "groups", "delete", "old", "shop", "--yes")
      assert_equal [1, []], [refused.code, changes]
      assert_match(/group shop has 1 member/, refused.err)
    end

    test "triage: findings with advice, exit code on request, and the retention of offsets where it can be read" do
      resource = Admin::Configs::Resource.new(type: :broker, name: 1, configs: [
        Admin::Configs::Config.new(name: "offsets.retention.minutes", value: "10080")
      ])
      answers = cluster(describe_configs: [resource], group_lags: ->(names) { names.to_h { |name| [name, ROWS] } })
      found = run_on(answers, "groups", "triage", "--detailed-exitcode")

      assert_equal "red     old has no members, and 40 records to consume; brokers delete its offsets 7 days after its last " \
                   "member left. Start its processes, or delete it\n", found.out
      assert_equal ["", 2], [found.err, found.code]
      assert_equal ["1 group: nothing to report\n", 0],
        run_on(cluster, "groups", "triage", "shop", "--detailed-exitcode").to_a.values_at(0, 2)
      assert_equal ["old"], JSON.parse(run_on(answers, "groups", "triage", "--json").out).map { |one| one["group"] }
    end

    test "triage: of the records that retention deleted, those that the commit lists as complete aren't lost" do
      metadata = Native::Envelope.encode(base: 50, topic: "orders", completed: [[51, 58], [70, 73]])
      answers = cluster(group_lags: ->(names) { names.to_h { |name| [name, ROWS] } },
        read_watermark_offsets: {"orders" => {0 => [60, 100], 1 => [0, 100]}},
        read_committed_offsets: ->(_group, topics) {
          topics.flat_map { |topic, list|
            list.map { |one| {topic: topic, partition: one, offset: 50, metadata: metadata} }
          }
        })
      lines = run_on(answers, "groups", "triage", "old").out.lines(chomp: true)

      assert_match(%r{\Ared     old has committed offsets in orders/0 that retention has deleted: 3 records were never}, lines[0])
      assert_match(/\Ared     old has no members, and 37 records to consume/, lines[1])
    end

    test "triage: a group that can't be read is reported, never counted as healthy" do
      found = run_on(cluster, "groups", "triage")

      assert_equal ["group old can't be read: no (group_authorization_failed)\n", 1], [found.err, found.code]
      assert_equal "1 group: nothing to report\n", found.out
    end
  end
end
