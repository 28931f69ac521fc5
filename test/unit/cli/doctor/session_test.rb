# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "penstock/cli/doctor/session"

module Penstock
  # The steps of `penstock doctor --connect` that need a login: what each answer of a cluster means.
  class DoctorSessionTest < TestCase
    # A native consumer with the given metadata (or error) by topic, nil for the whole cluster.
    Client = Struct.new(:settings, :answers, :events, :closed) do
      def metadata(topic, _limit_ms)
        answer = answers.fetch(topic)
        raise answer if answer.is_a?(Exception)
        answer
      end

      def poll_event = events.shift
      def close(_ms) = (self.closed = true)
    end
    Admin = Struct.new(:error, :configs, :rights) do
      def group_info(_group, authorized_operations:)
        raise rights if rights.is_a?(Exception)

        {authorized_operations: authorized_operations ? rights : []}
      end

      def describe_topics(*names, authorized_operations:)
        raise rights if rights.is_a?(Exception)

        names.map { |name| {topic: name, authorized_operations: authorized_operations ? rights : []} }
      end

      def read_committed_offsets(*) = error && raise(error)
      def topic_configs(_names) = configs.is_a?(Exception) ? raise(configs) : configs
    end
    WHOLE = {brokers: [1, 2], topics: {"orders" => {}, "clicks" => {}}, cluster_id: "abc"}.freeze

    def steps(answers = {}, events: [], kafka: {}, group_error: nil, configs: {}, rights: [], **options)
      make = ->(settings) { @client = Client.new(settings, {nil => WHOLE, **answers}, events) }
      Native::Consumer.stub(:new, make) do
        Penstock::Admin.stub(:open, ->(*, **, &block) { block.call(Admin.new(group_error, configs, rights)) }) do
          CLI::Doctor::Session.new({"security.protocol" => "plaintext", **kafka}, **options).steps
        end
      end
    end

    def topic(error: 0, partitions: 3) = {topics: {"orders" => {error: error, partitions: Array.new(partitions) { {} }}}}

    def names_of(steps) = steps.map { |step| [step.name, step.state] }

    def error(name, message = "no") = KafkaError.build(number: -1, name: name.to_s, message: message)

    test "a login that works has the number of brokers and topics, and the handle is closed" do
      login = steps.first
      assert_equal ["Kafka", :ok, "2 brokers, 2 topics seen, cluster abc"], [login.name, login.state, login.detail]
      assert @client.closed
      assert_equal "1 broker, 0 topics seen, cluster without an id",
        steps({nil => {brokers: [1], topics: {}, cluster_id: nil}}).first.detail
    end

    test "looking at a topic creates none" do
      steps
      assert_equal "false", @client.settings["allow.auto.create.topics"]
      assert_match(/\Apenstock-doctor-/, @client.settings["group.id"])
    end

    test "a failed login is the only step, with the reason that the client library has reported" do
      failed = steps({nil => error(:timed_out)}, kafka: {"security.protocol" => "sasl_ssl"}, topics: ["orders"], events: [
        [:error, -195, "_TRANSPORT", "refused"], [:error, -169, "_AUTHENTICATION", "wrong password"]
      ])
      assert_equal [["SASL", :failed, "wrong password"]], failed.map { |step| [step.name, step.state, step.detail] }
      assert_match(/check sasl.username, sasl.password and sasl.mechanisms/, failed.first.hint)
      tls = steps({nil => error(:timed_out)}, events: [[:error, -181, "_SSL", "handshake"]]).first
      assert_match(/see the TLS step above/, tls.hint)
      silent = steps({nil => WaitTimeoutError.new("no answer")}).first
      assert_equal "no answer", silent.detail
      assert_match(/check that security.protocol is the one of this listener/, silent.hint)
    end

    test "the port of an HTTP server is named as such, without the advice to accept larger answers" do
      failed = steps({nil => error(:timed_out)}, events: [[:error, -199, "_BAD_MSG", "127.0.0.1:80/bootstrap: Receive failed: " \
        "Invalid response size 1213486160 (0..100000000): increase receive.message.max.bytes (after 0ms in state " \
        "APIVERSION_QUERY)"]]).first

      assert_equal "Receive failed: Invalid response size 1213486160 (0..100000000)", failed.detail
      assert_match(/\Aan HTTP server answers there/, failed.hint)
    end

    test "a topic that isn't there is a failure, unless it is a retry topic that the application creates" do
      [3, -188].each do |number|
        missing = steps({"orders" => topic(error: number)}, topics: ["orders"]).last
        assert_equal ["topic orders", :failed, "doesn't exist"], [missing.name, missing.state, missing.detail]
        later = steps({"orders" => topic(error: number)}, topics: ["orders"], retry_topics: ["orders"]).last
        assert_equal ["retry topic orders", :ok], [later.name, later.state]
      end
      assert_equal :failed, steps({"orders" => {topics: {}}}, topics: ["orders"]).last.state
    end

    test "a topic that may not be seen, or that the broker refuses otherwise, is a failure, also a retry topic" do
      denied = steps({"orders" => topic(error: 29)}, topics: ["orders"], retry_topics: ["orders"]).last
      assert_equal [:failed, "ACL: this user may not see it"], [denied.state, denied.detail]
      assert_match(/grant READ, CREATE and DESCRIBE/, denied.hint)
      assert_equal "the broker answers with error 5", steps({"orders" => topic(error: 5)}, topics: ["orders"]).last.detail
      assert_equal :failed, steps({"orders" => error(:timed_out)}, topics: ["orders"]).last.state
    end

    test "a topic that may be seen and not read is a failure with the right that is missing" do
      found = {"orders" => topic}
      seen = steps(found, topics: ["orders"], rights: [:describe]).last
      assert_equal [:failed, "ACL: this user may see it, but has no right to READ", "grant READ on the topic to this user"],
        [seen.state, seen.detail, seen.hint]
      both = steps(found, topics: ["orders"], letter_topics: ["orders"], retry_topics: ["orders"], rights: [:describe]).last
      assert_equal ["retry topic orders", "grant READ and WRITE on the topic to this user"], [both.name, both.hint]
      assert_equal :ok, steps(found, topics: ["orders"], rights: %i[read describe]).last.state
    end

    test "where the rights on a topic can't be found out, it is enough to see it" do
      [[], error(:unsupported_feature), WaitTimeoutError.new("late")].each do |unknown|
        assert_equal :ok, steps({"orders" => topic}, topics: ["orders"], rights: unknown).last.state
      end
    end

    test "a topic of dead letters needs WRITE; the application creates one that is missing" do
      letters = {letter_topics: ["orders"]}
      read_only = steps({"orders" => topic}, rights: %i[read describe], **letters).last
      assert_equal ["dead letter topic orders", :failed, "grant WRITE on the topic to this user"],
        [read_only.name, read_only.state, read_only.hint]
      assert_equal ["dead letter topic orders", :ok], names_of(steps({"orders" => topic(error: 3)}, **letters)).last
      hidden = steps({"orders" => topic(error: 29)}, **letters).last
      assert_equal [:failed, "grant WRITE, CREATE and DESCRIBE on the topic to this user"], [hidden.state, hidden.hint]
    end

    test "a delay topic that deletes records before they are due is a warning, with the setting that is needed" do
      delays = {delay_topics: {"orders" => 3_600_000}, topics: ["orders"]}
      short = steps({"orders" => topic}, configs: {"orders" => {"retention.ms" => "3600000"}}, **delays)

      assert_equal [["delay topic orders", :ok], ["retention of orders", :warning]], names_of(short.last(2))
      assert_match(/retention.ms is 3600000, and records wait 3600000 ms in it/, short.last.detail)
      assert_match(/retention.ms to 518400000/, short.last.hint)
      ["3600001", "-1", nil].each do |long|
        assert_equal :ok, steps({"orders" => topic}, configs: {"orders" => {"retention.ms" => long}}, **delays).last.state
      end
    end

    test "the retention of delay topics is asked for only if they exist, and one that may not be read is reported as such" do
      delays = {delay_topics: {"orders" => 1_000}, topics: ["orders"], configs: error(:topic_authorization_failed, "denied")}
      denied = steps({"orders" => topic}, **delays).last

      assert_equal [["retention of delay topics", :skipped]], names_of([denied])
      assert_match(/could not be read: denied/, denied.detail)
      assert_equal :ok, steps({"orders" => topic(error: 3)}, **delays).last.state
    end

    test "the partitions of all topics that were found are added up" do
      make = ->(settings) {
        Client.new(settings, {nil => WHOLE, "orders" => topic(partitions: 4), "gone" => topic(error: 3)}, [])
      }
      session = CLI::Doctor::Session.new({}, topics: %w[orders gone orders])
      Native::Consumer.stub(:new, make) do
        Penstock::Admin.stub(:open, ->(*, **) { raise WaitTimeoutError, "late" }) { session.steps }
      end
      assert_equal 8, session.partitions
    end

    test "a group that may not be read is a failure with the permission it needs" do
      assert_equal ["group g", :ok], steps(groups: {"g" => ["orders"]}).last.then { |step| [step.name, step.state] }
      denied = steps(groups: {"g" => ["orders"]}, group_error: error(:group_authorization_failed)).last
      assert_equal [:failed, "grant READ on the group to this user"], [denied.state, denied.hint]
      assert_match(/coordinator/, steps(groups: {"g" => []}, group_error: WaitTimeoutError.new("late")).last.hint)
    end

    test "a group that may be seen and not joined is a failure; where the rights can't be found out, it is enough to see it" do
      seen = steps(groups: {"g" => ["orders"]}, rights: [:describe]).last
      assert_equal [:failed, "ACL: this user may see it, but has no right to READ", "grant READ on the group to this user"],
        [seen.state, seen.detail, seen.hint]
      [%i[read describe], [], error(:unsupported_feature), WaitTimeoutError.new("late")].each do |rights|
        assert_equal ["group g", :ok], names_of(steps(groups: {"g" => ["orders"]}, rights: rights)).last
      end
    end

    test "a token provider that raises is the failed step, with its error" do
      [KeyError, LoadError].each do |kind|
        raising = provider { raise kind, "no secret" }
        assert_equal [["SASL", :failed, "the token provider raised #{kind}: no secret"]], login(raising)
      end
    end

    test "a token provider that blocks is the failed step, after the time limit" do
      late = ->(*) { raise WaitTimeoutError, "the token provider (X) gave no answer" }
      Instrumentation::TokenRequest.stub(:call, late) do
        assert_equal [["SASL", :failed, "the token provider (X) gave no answer"]], login(Object.new)
      end
    end

    test "a login by OAuth without a token names the reason: no listener, or one that has set none" do
      assert_equal [["SASL", :failed, "the client has no OAuth token: there is no listener that provides one"]], login(nil)
      silent = provider {}
      assert_equal [["SASL", :failed, "the client has no OAuth token: the listener has set none"]],
        login(silent, {nil => error(:timed_out)})
      assert_equal :ok, login(silent).first[1], "it may have come from another thread"
    end

    test "a client that fetches or makes its tokens itself needs no listener" do
      assert_equal :ok, login(nil, "sasl.oauthbearer.method": "oidc").first[1]
      assert_equal :ok, login(nil, "enable.sasl.oauthbearer.unsecure.jwt": "true").first[1]
      assert_equal :ok, login(nil, "sasl.mechanisms": "PLAIN").first[1]
    end

    private

    Listener = Struct.new(:answer) do
      def on_oauthbearer_token_refresh(_event) = answer.call
    end

    def provider(&answer) = Listener.new(answer)

    # @return [Array<(String, Symbol, String)>] the steps of a login by OAuth
    def login(provider, answers = {}, **kafka)
      kafka = {"security.protocol" => "sasl_ssl", "sasl.mechanisms" => "OAUTHBEARER", **kafka.transform_keys(&:to_s)}
      steps(answers, kafka: kafka, token_provider: provider).map { |step| [step.name, step.state, step.detail] }
    end
  end
end
