# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require_relative "../support/free_port"
require_relative "../support/kafka_server"
require_relative "../support/kafka_tools"
require_relative "../support/real_broker"

module Penstock
  # Rights and users on a broker that requires both: what we change, and the errors for a user without rights. One listener is
  # open to the administrator; the other one takes SCRAM passwords.
  class AdminSecurityTest < TestCase
    include TestSupport::RealBroker

    Acl = Admin::Acl
    Configs = Admin::Configs
    AUTHORIZER = {
      "authorizer.class.name" => "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users" => "User:ANONYMOUS",
      "listener.name.scram.sasl.enabled.mechanisms" => "SCRAM-SHA-512,SCRAM-SHA-256",
      "listener.name.scram.scram-sha-512.sasl.jaas.config" => "org.apache.kafka.common.security.scram.ScramLoginModule required;",
      "listener.name.scram.scram-sha-256.sasl.jaas.config" => "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    }.freeze
    PASSWORD = "a password with spaces, ü and \"quotes\""
    private_constant :AUTHORIZER, :PASSWORD

    class << self
      attr_reader :server, :scram

      def before_all
        return if TestSupport::KafkaServer.obstacle

        plain, @scram = TestSupport::FreePort.take(2)
        listener = TestSupport::KafkaProperties::Listener.new(name: "SCRAM", port: @scram, protocol: "SASL_PLAINTEXT")
        @server = TestSupport::KafkaServer.new(port: plain, listeners: [listener], extra: AUTHORIZER, jvm: TestSupport::KafkaServer::TEST_JVM)
        @server.start
      end

      def after_all = @server&.stop
    end

    def setup
      super
      obstacle = TestSupport::KafkaServer.obstacle
      skip obstacle if obstacle
    end

    def bootstrap_servers = self.class.server.bootstrap_servers

    test "[configs/ACL] [Admin CRUD] rights are created, described, found by filters and deleted" do
      admin do |admin|
        topic, user = unique("orders"), unique("user")
        acls = [allow(user, :read, topic), allow(user, :write, topic, host: "127.0.0.1"),
          Acl.new(resource_type: :group, resource_name: user, resource_pattern_type: :prefixed, principal: "User:#{user}",
            operation: :read, permission_type: :deny), Acl.new(resource_type: :cluster, resource_name: nil,
              principal: "User:#{user}", operation: :idempotent_write, permission_type: :allow)]

        assert_equal acls, admin.create_acls(acls)
        assert_equal acls, admin.create_acls(*acls), "again is no error"
        assert_equal acls.sort_by(&:to_s), of(admin, user, 4)
        assert_equal acls.first(2).sort_by(&:to_s), admin.describe_acls(Acl.filter(resource_type: :topic, resource_name: topic,
          resource_pattern_type: :match)).sort_by(&:to_s)
        assert_equal [acls[2]], admin.delete_acls(Acl.filter(principal: "User:#{user}", permission_type: :deny),
          Acl.filter(principal: "User:#{user}", resource_type: :consumer_group))
        assert_equal 3, of(admin, user, 3).size
        assert_equal [], admin.delete_acls(Acl.filter(principal: "User:nobody"))
        assert_equal 3, admin.delete_acls(Acl.filter(principal: "User:#{user}")).size
      end
    end

    test "[Alter bad op] a filter isn't a right: all its gaps are named, and nothing is sent" do
      admin do |admin|
        user = unique("user")
        error = assert_raises(InvalidRequestError) do
          admin.create_acls(allow(user, :read, "t"),
            Acl.filter(principal: "User:#{user}", operation: :read, resource_type: :topic), "no")
        end

        assert_equal [:resource_pattern_type, :permission_type, :resource_name, :host],
          error.problems.first(4).map { |problem| problem.message[/\A\w+/].to_sym }
        assert_equal "\"no\": is no Penstock::Admin::Acl. Use Acl.new(resource_type: :topic, …), or Acl.filter(…).",
          error.problems.last.to_s
        assert_equal [], admin.describe_acls(Acl.filter(principal: "User:#{user}"))
      end
    end

    test "[configs/ACL] kafka-acls reports our right and its deletion, and we report what it adds and removes" do
      admin do |admin|
        topic, user, tools = unique("orders"), unique("user"), TestSupport::KafkaTools.new(bootstrap_servers)
        admin.create_acls(allow(user, :read, topic))
        listed = tools.run(:acls, "--list", "--principal", "User:#{user}")
        assert_match(/resourceType=TOPIC, name=#{topic}, patternType=LITERAL/, listed)
        assert_match(/principal=User:#{user}, host=\*, operation=READ, permissionType=ALLOW/, listed)

        tools.run(:acls, "--add", "--deny-principal", "User:#{user}", "--operation", "Write", "--topic", topic,
          "--resource-pattern-type", "prefixed", "--deny-host", "10.0.0.1")
        theirs = Acl.new(resource_type: :topic, resource_name: topic, resource_pattern_type: :prefixed, principal: "User:#{user}",
          host: "10.0.0.1", operation: :write, permission_type: :deny)
        assert_includes of(admin, user, 2), theirs
        assert_equal [theirs], admin.delete_acls(theirs)
        of(admin, user, 1)
        refute_match(/#{theirs.host}/, tools.run(:acls, "--list", "--principal", "User:#{user}"))
        tools.run(:acls, "--remove", "--force", "--allow-principal", "User:#{user}", "--operation", "Read", "--topic", topic)
        assert_empty of(admin, user, 0)
      end
    end

    test "a user is created, logs in, gets another password and mechanism, and is deleted; Kafka's tool knows it, and we its" do
      admin do |admin|
        user = unique("user")
        admin.set_password(user, PASSWORD)
        assert_equal({user => {"SCRAM-SHA-512" => 8_192}}, described(admin, user))
        assert_equal({}, as(user, PASSWORD, &:topics))
        admin.set_password(user, "short", mechanism: "SCRAM-SHA-256", iterations: 4_096)
        assert_equal({user => {"SCRAM-SHA-256" => 4_096, "SCRAM-SHA-512" => 8_192}}, described(admin, user) { |found|
          found.size == 2
        })
        assert_equal({}, as(user, "short", mechanism: "SCRAM-SHA-256", &:topics))
        assert_equal :authentication, assert_raises(KafkaError) { as(user, "wrong", timeout_ms: 3_000, &:topics) }.code

        admin.delete_user(user, mechanism: "SCRAM-SHA-512")
        assert_equal({user => {"SCRAM-SHA-256" => 4_096}}, described(admin, user) { |found| found.size == 1 })
        tools = TestSupport::KafkaTools.new(bootstrap_servers)
        assert_match(/#{user}' are SCRAM-SHA-256=iterations=4096/,
          tools.run(:configs, "--describe", "--entity-type", "users", "--entity-name", user))
        tools.run(:configs, "--alter", "--entity-type", "users", "--entity-name", "theirs", "--add-config",
          "SCRAM-SHA-512=[iterations=5000,password=x]")
        assert_equal({"SCRAM-SHA-512" => 5_000}, described(admin, "theirs").fetch("theirs"))
        admin.delete_user(user)
        assert_equal :resource_not_found, gone(admin, user).code
        refute_includes admin.describe_users.keys, user
      end
    end

    test "a user with passwords of both mechanisms is deleted with all of them" do
      admin do |admin|
        user = unique("user")
        admin.set_password(user, PASSWORD)
        admin.set_password(user, PASSWORD, mechanism: "SCRAM-SHA-256")
        assert_equal 2, described(admin, user) { |found| found.size == 2 }.fetch(user).size
        admin.delete_user(user)

        assert_equal :resource_not_found, gone(admin, user).code
      end
    end

    test "[Alter bad op] all that is wrong with a password is named before anything is sent; the password isn't in it" do
      admin do |admin|
        error = assert_raises(InvalidRequestError) { admin.set_password(" ", "", mechanism: "PLAIN", iterations: 10) }

        assert_equal ["user: has no name", "mechanism \"PLAIN\": is none of SCRAM-SHA-256, SCRAM-SHA-512",
          "iterations 10: brokers take 4096 to 16384", "user  : the password is empty, or no String"], error.problems.map(&:to_s)
        assert_equal :resource_not_found, assert_raises(KafkaError) { admin.delete_user(unique("missing")) }.code
        refute_includes assert_raises(InvalidRequestError) { admin.set_password("x", PASSWORD, iterations: 1) }.message, PASSWORD
      end
    end

    # A refused description of users once ended the process, and refused rights were an empty list.
    test "every request of a user without rights is refused with that error, and the process survives it" do
      user, topic = unique("user"), unique("orders")
      admin do |admin|
        admin.set_password(user, PASSWORD)
        admin.create_topic(topic, 1, 1)
        admin.write_committed_offsets(topic, [{topic: topic, partition: 0, offset: 0}])
      end
      codes = as(user, PASSWORD) { |admin|
        refusals(topic).transform_values { |request|
          assert_raises(KafkaError) {
            request.call(admin)
          }.code
        }
      }

      cluster = %i[create_acls describe_acls delete_acls describe_users set_password elect broker]
      assert_equal({cluster_authorization_failed: cluster,
                    topic_authorization_failed: %i[describe_configs alter_configs describe_topics validate],
                    group_authorization_failed: %i[read write delete_offsets delete_group describe_group]},
        codes.group_by(&:last).transform_values { |pairs| pairs.map(&:first) })
    end

    test "with the right that the error asks for, the request succeeds" do
      user, topic = unique("user"), unique("orders")
      admin do |admin|
        admin.set_password(user, PASSWORD)
        admin.create_topic(topic, 1, 1)
        admin.create_acls(allow(user, :describe, topic), allow(user, :alter_configs, topic))
      end
      as(user, PASSWORD) do |admin|
        change = Configs::Resource.new(type: :topic, name: topic).set("segment.ms", 60_000)
        wait_until(20, "the right") { admin.alter_configs(change) rescue nil } # rubocop:disable Style/RescueModifier -- until it is known
        found = wait_until(20, "the operations") do
          admin.describe_topics(topic, authorized_operations: true).first.then { |one|
            one if one[:authorized_operations].size > 1
          }
        end

        assert_equal [topic, %i[alter_configs describe]],
          [found[:topic], found[:authorized_operations].sort - %i[describe_configs]]
        assert_equal :topic_authorization_failed, assert_raises(KafkaError) { admin.delete_records(topic => :latest) }.code
      end
    end

    private

    def admin(&block) = Admin.open({"bootstrap.servers": bootstrap_servers}, timeout_ms: 20_000, &block)

    def as(user, password, mechanism: "SCRAM-SHA-512", timeout_ms: 20_000, &block)
      Admin.open({"bootstrap.servers": "127.0.0.1:#{self.class.scram}", "security.protocol": "sasl_plaintext",
                  "sasl.mechanisms": mechanism, "sasl.username": user, "sasl.password": password}, timeout_ms: timeout_ms, &block)
    end

    def allow(user, operation, topic, host: "*")
      Acl.new(resource_type: :topic, resource_name: topic, principal: "User:#{user}", host: host, operation: operation,
        permission_type: :allow)
    end

    # The broker answers from its copy of the metadata, which follows a moment later.
    def of(admin, user, count)
      wait_until(10, "#{count} rights of #{user}", state: -> { admin.describe_acls(Acl.filter(principal: "User:#{user}")) }) do
        found = admin.describe_acls(Acl.filter(principal: "User:#{user}"))
        found.sort_by(&:to_s) if found.size == count
      end
    end

    def described(admin, user)
      wait_until(10, "the user #{user}") do
        found = admin.describe_users(user)
        found if !block_given? || yield(found.fetch(user))
      rescue KafkaError => error
        raise unless error.code == :resource_not_found
      end
    end

    def gone(admin, user)
      wait_until(10, "no user #{user}") do
        admin.describe_users(user) && nil
      rescue KafkaError => error
        error
      end
    end

    def refusals(topic)
      resource = -> { Configs::Resource.new(type: :topic, name: topic) }
      {
        create_acls: ->(admin) { admin.create_acls(allow("x", :read, topic)) },
        describe_acls: ->(admin) { admin.describe_acls(Acl.filter) },
        delete_acls: ->(admin) { admin.delete_acls(Acl.filter) },
        describe_users: ->(admin) { admin.describe_users },
        set_password: ->(admin) { admin.set_password("x", "y") },
        elect: ->(admin) { admin.elect_leaders({topic => [0]}) },
        broker: ->(admin) { admin.describe_configs(Configs::Resource.new(type: :broker, name: 1)) },
        describe_configs: ->(admin) { admin.describe_configs(resource.call) },
        alter_configs: ->(admin) { admin.alter_configs(resource.call.set("segment.ms", 1)) },
        describe_topics: ->(admin) { admin.describe_topics(topic) },
        validate: ->(admin) { admin.alter_configs(resource.call.set("segment.ms", 1), validate_only: true) },
        read: ->(admin) { admin.read_committed_offsets(topic) },
        write: ->(admin) { admin.write_committed_offsets(topic, [{topic: topic, partition: 0, offset: 0}]) },
        delete_offsets: ->(admin) { admin.delete_committed_offsets(topic, {topic => [0]}) },
        delete_group: ->(admin) { admin.delete_consumer_group(topic) },
        describe_group: ->(admin) { admin.group_info(topic) }
      }
    end
  end
end
