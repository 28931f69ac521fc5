# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/native/admin"
require "penstock/native/producer"
require_relative "../support/command_line"
require_relative "../support/kafka_security"
require_relative "../support/kafka_security_process"
require_relative "../support/real_broker"

# An application with TLS, SCRAM, client certificates and tokens, on a broker that requires them; and its messages when
# they are wrong. docs/security.md and docs/recipes give the same settings.
class SecurityTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine
  include Penstock::TestSupport::RealBroker

  # Output that contains one of these has leaked a secret.
  WRONG = "canary-of-the-wrong-password-91ab"
  SECRETS = [Penstock::TestSupport::KafkaSecurity::PASSWORD, Penstock::TestSupport::KafkaCertificates::KEY_PASSWORD, WRONG,
    "PRIVATE KEY"].freeze

  class << self
    attr_reader :cluster

    def before_all
      return if Penstock::TestSupport::KafkaServer.obstacle

      @cluster = Penstock::TestSupport::KafkaSecurity.new
      @cluster.start
    end

    def after_all
      @cluster&.stop
    end
  end

  def setup
    super
    obstacle = Penstock::TestSupport::KafkaServer.obstacle
    skip obstacle if obstacle
    @applications = []
  end

  def teardown
    (@applications || []).each(&:close)
    super
  end

  test "an application consumes and produces over SCRAM-SHA-512 and TLS" do
    assert_forwards(cluster.scram_settings)
  end

  test "an application consumes and produces over mTLS, with an encrypted key" do
    assert_forwards(cluster.mtls_settings)
  end

  test "[OAuth refresh] a listener provides the tokens of consumer and producer, again before they expire" do
    application = assert_forwards(cluster.oauth_settings, tokens: true)
    wait_until(20, "a second token") { application.log.scan("needs an OAuth token").size > 1 }

    assert_forwarded(application, "after the first token")
  end

  test "a wrong password is one log line that names SASL and the settings; once the broker has it, the application works" do
    user = unique("late")
    application = start(cluster.scram_settings("sasl.username": user, "sasl.password": WRONG))

    assert_explained(application, /no connection to 127\.0\.0\.1:\d+, SASL failed: .*sasl\.username, sasl\.password/)
    cluster.set_password(user, WRONG)
    assert_forwarded(application, "after the password")
    assert_stops(application)
  end

  test "a broker certificate from another authority is one log line that names TLS and ssl.ca.location" do
    application = start(cluster.scram_settings("ssl.ca.location": cluster.certificates.path("other-ca.pem")))

    assert_explained(application, /TLS failed: .*could not be verified.*set ssl\.ca\.location/)
    assert_stops(application)
  end

  test "a missing client certificate is one log line that names TLS and ssl.certificate.location" do
    application = start(without_certificate)

    assert_explained(application, /TLS failed: .*client certificate.*ssl\.certificate\.location/)
    assert_stops(application)
  end

  test "a plaintext connection to a TLS listener is one log line that points to the protocol setting" do
    application = start({"bootstrap.servers" => cluster.scram_settings.fetch("bootstrap.servers")})

    assert_explained(application, /Kafka failed: .*security\.protocol/)
    assert_stops(application)
  end

  test "the doctor passes with SCRAM over TLS and with mTLS" do
    [cluster.scram_settings, cluster.mtls_settings].each do |settings|
      code, steps = doctor(settings)

      assert_equal [0, []], [code, steps.select { |step| step["state"] == "failed" }]
      assert_equal "ok", steps.find { |step| step["name"] == "TLS" }["state"]
    end
  end

  test "the doctor names the step that fails and what to change: TLS, TLS, SASL" do
    {cluster.scram_settings("ssl.ca.location": cluster.certificates.path("other-ca.pem")) => ["TLS", "ssl.ca.location"],
     without_certificate => ["TLS", "ssl.certificate.location"],
     cluster.scram_settings("sasl.password": WRONG) => ["SASL", "sasl.password"]}.each do |settings, (name, hint)|
      code, steps = doctor(settings)
      failed = steps.find { |step| step["state"] == "failed" }

      assert_equal [1, name], [code, failed&.fetch("name")], steps.inspect
      assert_includes failed["hint"], hint
    end
  end

  test "the doctor gets a token from the application's listener, and reports when there is none" do
    {"event[:bearer].oauthbearer_set_token(**#{token.inspect})" => [0, "ok"], "raise IOError, 'no'" => [1, "failed"]}
      .each do |answer, expected|
        write_boot_file(cluster.oauth_settings, <<~RUBY)
          listener = Object.new
          listener.define_singleton_method(:on_oauthbearer_token_refresh) { |event| #{answer} }
          config.oauth.token_provider_listener = listener
        RUBY
        result = penstock("doctor", "--connect", "--json")

        login = JSON.parse(result.out).find { |step| step["name"] == "SASL" }
        assert_equal expected, [result.code, login["state"]], result.out
      end
  end

  test "commands that read records, and commands that record their actions, get a token from the application's listener" do
    write_boot_file(cluster.oauth_settings, <<~RUBY)
      listener = Object.new
      listener.define_singleton_method(:on_oauthbearer_token_refresh) { |event| event[:bearer].oauthbearer_set_token(**#{token.inspect}) }
      config.oauth.token_provider_listener = listener
    RUBY
    @from = @known
    produce("1")
    [%W[why #{@known} 0 0], %W[dead list #{@known}], %W[dead show #{@known} 0 0], %W[dead drop #{@known} --everything --yes]]
      .each do |command|
        result = penstock(*command, "--timeout", "20")

        assert_equal 0, result.code, "#{command.join(" ")}: #{result.out} #{result.err}"
      end
    assert_includes penstock("dead", "list", @known, "--timeout", "20").out, "no dead letters"
  end

  test "a key that can't be decrypted with its password is refused before any connection, without showing the password" do
    write_boot_file(cluster.mtls_settings("ssl.key.password": WRONG))
    result = penstock("server")

    assert_equal 1, result.code
    assert_match(/ssl\.key\.location .* ssl\.key\.password is its password/, result.err)
    assert_no_secret(result.out + result.err)
  end

  test "an application with secrets shows none: not in its log, its errors, its inspect or the doctor's report" do
    application = start(cluster.scram_settings("sasl.password": WRONG))
    application.line(/SASL failed/)
    doctor(cluster.scram_settings)
    doctor(cluster.mtls_settings)

    assert_match(/inspected: .*sasl\.password/, application.log)
    assert_no_secret(application.log)
  end

  test "the recipes for SCRAM over TLS and for mTLS work as written" do
    create("orders")
    {"scram_tls" => cluster.scram_settings, "mtls" => cluster.mtls_settings}.each do |recipe, settings|
      write("penstock.rb", recipe(recipe))
      doctor = penstock("doctor", "--connect", env: environment(settings))

      assert_equal 0, doctor.code, doctor.out + doctor.err
      assert_consumes_by_recipe(recipe, environment(settings))
    end
  end

  test "recipes that were not tried are marked so, and are valid as far as that can be checked without their clouds" do
    write("lib/aws_msk_iam_sasl_signer.rb", "AwsMskIamSaslSigner = Struct.new(:region, keyword_init: true)\n" \
                                            "AwsMskIamSaslSigner::MSKTokenProvider = AwsMskIamSaslSigner\n")
    env = {"KAFKA_BROKERS" => "localhost:9098", "AWS_REGION" => "eu-central-1", "KAFKA_API_KEY" => "key",
           "KAFKA_API_SECRET" => WRONG, "RUBYLIB" => File.join(@dir, "lib")}
    %w[msk_iam confluent_cloud].each do |name|
      assert_includes File.read(recipe_path(name)), "**Not tried by us.**"
      write("penstock.rb", recipe(name))
      result = penstock("doctor", env: env)

      assert_equal 0, result.code, result.out + result.err
      assert_no_secret(result.out)
    end
  end

  test "the demo's table is right with a login too, which it reads from a file" do
    file = write("login.properties", "# login\n\n#{cluster.scram_settings.map { |pair| pair.join("=") }.join("\n")}\n")
    out, err, = Open3.capture3(CLEAN.merge("TMPDIR" => @dir), RbConfig.ruby, File.join(ROOT, "examples/demo/main.rb"),
      "--kafka-file", file, "--kafka", "client.rack=a", "--count", "3000", "--rate", "2000", "--json")

    assert_equal [[], 3_000, 0, 0], JSON.parse(out).values_at("problems", "processed", "lost", "out_of_order"), err
    assert_no_secret(out + err)
  end

  private

  # The variables that a recipe reads from its environment.
  def environment(settings)
    {"KAFKA_BROKERS" => "bootstrap.servers", "KAFKA_USERNAME" => "sasl.username", "KAFKA_PASSWORD" => "sasl.password",
     "KAFKA_CA" => "ssl.ca.location", "KAFKA_CERTIFICATE" => "ssl.certificate.location", "KAFKA_KEY" => "ssl.key.location",
     "KAFKA_KEY_PASSWORD" => "ssl.key.password"}.transform_values { |name| settings[name] }.compact
  end

  def recipe_path(name) = File.join(ROOT, "docs/recipes/#{name}.md")

  # The boot file of the page: its first Ruby block.
  def recipe(name) = "$stdout.sync = true\n#{File.read(recipe_path(name))[/^```ruby\n(.*?)^```$/m, 1]}"

  def assert_consumes_by_recipe(payload, env)
    @from = "orders"
    produce(payload)
    output = File.join(@dir, "#{payload}.out")
    pid = ::Process.spawn(CLEAN.merge(env), RbConfig.ruby, EXECUTABLE, "server", :chdir => @dir, %i[out err] => output)
    wait_until(40, payload, state: -> { File.read(output) }, every: 0.1) { File.readlines(output, chomp: true).include?(payload) }

    assert_no_secret(File.read(output))
  ensure
    ::Process.kill(:TERM, pid)
    assert_equal 0, ::Process.wait2(pid).last.exitstatus
  end

  def cluster = self.class.cluster

  def start(settings, **plan)
    @from, @to = unique("from"), unique("to")
    create(@from, @to)
    Penstock::TestSupport::KafkaSecurityProcess.new(settings, from: @from, to: @to, **plan).tap { |one| @applications << one }
  end

  def create(*topics)
    admin = Penstock::Native::Admin.new(plain)
    admin.create_topics(topics.map { |topic| [topic, 1, 1, {}] }, 20_000)
  ensure
    admin&.close
  end

  def produce(payload)
    producer = Penstock::Native::Producer.new(plain)
    producer.produce(@from, payload, handle: false)
    assert producer.flush(10_000)
  ensure
    producer&.close(5_000)
  end

  def plain = {"bootstrap.servers" => cluster.server.bootstrap_servers}

  def without_certificate = cluster.mtls_settings.except("ssl.certificate.location", "ssl.key.location", "ssl.key.password")

  def assert_forwards(settings, **plan)
    start(settings, **plan).tap do |application|
      assert_forwarded(application, "first")
      assert_empty application.complaints
      assert_stops(application) unless plan[:tokens]
    end
  end

  def assert_forwarded(application, payload)
    produce(payload)

    assert application.wait_for(payload)
    assert_no_secret(application.log)
  end

  # At most one such line, although librdkafka reports the error many times.
  def assert_explained(application, pattern)
    application.line(pattern)
    observe_for(2)

    assert_equal 1, application.complaints.size, application.complaints.join
    assert_predicate application, :running?
    assert_no_secret(application.log)
  end

  def assert_stops(application)
    assert_equal 0, application.stop.exitstatus
    assert_no_secret(application.log)
  end

  # An unsigned token, valid for an hour.
  def token
    claims = {sub: "app", iat: Time.now.to_i, exp: Time.now.to_i + 3_600}
    parts = [{alg: "none"}, claims].map { |part| [JSON.generate(part)].pack("m0").tr("+/", "-_").delete("=") }
    {token: "#{parts.join(".")}.", lifetime_ms: claims[:exp] * 1_000, principal_name: "app"}
  end

  def doctor(settings)
    write_boot_file(settings)
    result = penstock("doctor", "--connect", "--json")
    assert_no_secret(result.out + result.err)
    [result.code, JSON.parse(result.out)]
  end

  def write_boot_file(settings, more = "")
    write("penstock.rb", <<~RUBY)
      require "penstock"
      class PenstockApp < Penstock::App
        setup do |config|
          config.group_id = "readers"
          config.kafka = #{settings.transform_keys(&:to_sym).inspect}
          #{more}
        end
        routes.draw { topic("#{@known ||= unique("known").tap { |topic| create(topic) }}") { consumer Class.new(Penstock::BaseConsumer) { def consume = nil } } }
      end
    RUBY
  end

  def assert_no_secret(text)
    SECRETS.each { |secret| refute_includes text, secret }
  end
end
