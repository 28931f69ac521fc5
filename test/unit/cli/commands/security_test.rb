# frozen_string_literal: true

require "test_helper"
require "json"
require "support/cluster_stand_in"

module Penstock
  # `penstock acls …`, `users …` and `configs …`: what they show, and what they change after a yes.
  class SecurityCommandsTest < TestCase
    include TestSupport::ClusterStandIn

    READ = Admin::Acl.new(resource_type: :topic, resource_name: "orders", operation: :read, permission_type: :allow,
      principal: "User:a")

    test "acls list: all rights, or those with a part" do
      filters = []
      answers = {describe_acls: ->(filter) { filters << filter && [READ] }}

      assert_match(/allow +User:a +\* +read +topic +orders +literal/, run_on(answers, "acls", "list").out)
      run_on(answers, "acls", "list", "--principal", "User:a", "--topics", "orders", "--pattern", "match", "--operations",
        "read", "--deny")
      assert_equal [Admin::Acl.filter, Admin::Acl.filter(principal: "User:a", resource_type: :topic, resource_name: "orders",
        resource_pattern_type: :match, operation: :read, permission_type: :deny)], filters
      assert_equal "no rights\n", run_on({describe_acls: []}, "acls", "list").out
    end

    test "acls create: one right for each resource and operation, with a yes" do
      words = %w[acls create --principal User:a --operations read,describe --topics orders,clicks --cluster]
      shown = run_on({}, *words)
      assert_equal [1, [], 7], [shown.code, changes, shown.out.lines.size]

      run_on({}, *words, "--yes")
      assert_equal 6, changes.first.last.size
      assert_includes changes.first.last, READ
    end

    test "acls create: what is missing or unknown is refused" do
      assert_match(/missing: --principal$/, run_on({}, "acls", "create", "--operations", "read", "--topics", "a", "--yes").err)
      assert_match(/missing: --principal; --operations; one of --topics, --groups, --transactional-ids, --cluster$/,
        run_on({}, "acls", "create", "--yes").err)
      assert_match(/:red.*Did you mean read\?/,
        run_on({}, "acls", "create", "--operations", "red", "--principal", "User:a", "--topics", "a", "--yes").err)
      assert_match(/not both/,
        run_on({}, *%w[acls create --operations read --principal User:a --topics a --allow --deny --yes]).err)
    end

    test "acls delete: shows what matches, deletes it with a yes, and refuses to delete all" do
      answers = {describe_acls: [READ], delete_acls: ->(filter) { (@deleted = filter) && [READ] }}
      assert_equal [1, nil], [run_on(answers, "acls", "delete", "--principal", "User:a").code, @deleted]

      assert_includes run_on(answers, "acls", "delete", "--principal", "User:a", "--yes").out, "deleted 1"
      assert_equal Admin::Acl.filter(principal: "User:a"), @deleted
      assert_match(/one resource and one operation at a time, not topic a and topic b/,
        run_on(answers, "acls", "delete", "--topics", "a,b", "--yes").err)
      assert_match(/without an option all rights would be deleted/, run_on(answers, "acls", "delete", "--yes").err)
      assert_equal "no rights\n", run_on({describe_acls: []}, "acls", "delete", "--principal", "User:b", "--yes").out
    end

    test "users list: name, mechanism and iterations" do
      assert_match(/billing +SCRAM-SHA-512 +8192/,
        run_on({describe_users: {"billing" => {"SCRAM-SHA-512" => 8192}}}, "users", "list").out)
      assert_equal "no users with a SCRAM password\n", run_on({describe_users: {}}, "users", "list").out
    end

    test "users set: the password comes from the standard input and is never shown" do
      missing = {describe_users: kafka_error(:resource_not_found)}
      created = run_on(missing, "users", "set", "billing", "--yes", "--iterations", "4096", input: "s3cret\n")

      assert_equal [[:set_password, "billing", "s3cret", {iterations: 4096}]], changes
      assert_equal "user billing will be created\ncreated billing\n", created.out
      refute_includes created.out + created.err, "s3cret"

      existing = {describe_users: {"billing" => {"SCRAM-SHA-512" => 8192}}}
      replaced = run_on(existing, "users", "set", "billing", typed: "s3cret\nyes\n")
      assert_equal 0, replaced.code
      assert_includes replaced.out, "exists: its password will be replaced"
      assert_equal [1, []], [run_on(existing, "users", "set", "billing", typed: "s3cret\nno\n").code, changes]
      assert_match(/the password is empty/, run_on(missing, "users", "set", "billing", "--yes").err)
    end

    test "users delete: shows the passwords, deletes with a yes" do
      answers = {describe_users: {"billing" => {"SCRAM-SHA-512" => 8192, "SCRAM-SHA-256" => 4096}}}
      assert_equal [1, []], [run_on(answers, "users", "delete", "billing").code, changes]

      run_on(answers, "users", "delete", "billing", "--mechanism", "SCRAM-SHA-256", "--yes")
      assert_equal [[:delete_user, "billing", {mechanism: "SCRAM-SHA-256"}]], changes
      assert_equal 1, run_on({describe_users: kafka_error(:resource_not_found)}, "users", "delete", "nobody", "--yes").code
    end

    def config(name, value, **more)
      Admin::Configs::Config.new(name: name, value: value, source: :topic, default: false, sensitive: false, synonyms: [], **more)
    end

    def orders(*configs) = [Admin::Configs::Resource.new(type: :topic, name: "orders", configs: configs)]

    test "configs show: what is set and where, secrets hidden, defaults on request" do
      answers = {describe_configs: orders(config("retention.ms", "5"), config("a.secret", nil, sensitive: true),
        config("segment.ms", "9", default: true, source: :default))}

      assert_equal ["name          value     source", "a.secret      (secret)  topic", "retention.ms  5         topic"],
        run_on(answers, "configs", "show", "topic", "orders").out.lines(chomp: true)
      assert_includes run_on(answers, "configs", "show", "topic", "orders", "--all").out, "segment.ms"
      assert_equal "topic orders: only defaults; --all shows them\n",
        run_on({describe_configs: orders}, "configs", "show", "topic", "orders").out
      assert_match(/"topics" is none of topic, broker, group/, run_on(answers, "configs", "show", "topics", "orders").err)
    end

    test "configs set and unset: brokers check first, then a yes, then the change" do
      answers = {describe_configs: orders(config("retention.ms", "5"))}
      shown = run_on(answers, "configs", "set", "topic", "orders", "retention.ms=6", "segment.ms=7")
      assert_equal "retention.ms: 5 → 6\nsegment.ms: (unset) → 7\n", shown.out
      assert_equal [[{validate_only: true}], 1], [changes.map(&:last), shown.code]

      run_on(answers, "configs", "set", "topic", "orders", "retention.ms=6", "--yes")
      assert_equal [[:set, "retention.ms", "6"]], changes.last[1].operations

      found = run_on(answers, "configs", "unset", "topic", "orders", "retention.ms", "--yes")
      assert_equal "retention.ms: 5 → the default\nchanged topic orders\n", found.out
    end

    test "configs set and unset: what isn't a pair, isn't there, or is refused by brokers changes nothing" do
      assert_match(/"retention\.ms" is not a SETTING=VALUE/,
        run_on({}, "configs", "set", "topic", "orders", "retention.ms", "--yes").err)

      unknown = run_on({describe_configs: orders(config("retention.ms", "5"))}, "configs", "unset", "topic", "orders",
        "retentio.ms", "--yes")
      assert_equal [1, []], [unknown.code, changes]
      assert_match(/topic orders has no setting retentio\.ms\. Did you mean retention\.ms\?/, unknown.err)

      refused = run_on({describe_configs: orders, alter_configs: kafka_error(:invalid_config, "no such setting")},
        "configs", "set", "topic", "orders", "retention.s=6", "--yes")
      assert_equal 1, refused.code
      assert_includes refused.err, "no such setting"
    end
  end
end
