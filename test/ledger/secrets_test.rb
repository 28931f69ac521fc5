# frozen_string_literal: true

require "test_helper"
require "penstock/native/conf"
require "penstock/producer"
require "support/embedded_broker"
require "support/served"

module Penstock
  # A secret in every setting that may contain one: no output of a process contains it, whether the settings are right,
  # wrong, or refused by librdkafka.
  class LedgerSecretsTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    CANARY = "canary-7f3a91"
    # Settings with text that nobody except their owner may read.
    SECRETS = Native::Conf.properties.select { |name, property|
      property.type == :string && name.match?(/password|passphrase|secret|key\.pem|oauthbearer\.config/)
    }.keys.freeze
    # With the settings that make librdkafka use them.
    CONTEXT = {
      /\Assl/ => {"security.protocol": "ssl"}, /\Asasl\.password/ => {"security.protocol": "sasl_plaintext",
                                                                      "sasl.mechanisms": "PLAIN", "sasl.username": "app"},
      /oauthbearer/ => {"security.protocol": "sasl_plaintext", "sasl.mechanisms": "OAUTHBEARER",
                        "sasl.oauthbearer.method": "oidc",
                        "sasl.oauthbearer.client.id": "app", "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/"}
    }.freeze

    def kafka(name)
      context = CONTEXT.find { |pattern, _settings| name.match?(pattern) }&.last.to_h
      {**cluster.kafka, **context, name.to_sym => "#{CANARY}\nsecond line"}
    end

    def files = Dir[File.join(@dir, "**/*")].select { |path| File.file?(path) }

    # The files in the process's folder, except the boot file, which has it from the environment.
    def assert_unknown(*texts)
      (texts + files.map { |path| File.binread(path) }).each { |text| refute_includes text, CANARY }
    end

    test "T36: there are settings that hold secrets" do
      assert_operator SECRETS.size, :>=, 8
    end

    SECRETS.each do |name|
      test "T36: #{name} is in no log, dump, report or error" do
        settings = JSON.generate(kafka(name))
        env = {"KAFKA" => settings, "GROUP" => "g", "TOPIC" => @topic}
        results = [%w[doctor], %w[doctor --connect --timeout 2], %w[routes], %w[config]].map { |words|
          penstock(*words, env: env)
        }
        assert_unknown(*results.flat_map { |result| [result.out, result.err] })

        server = serve("server", env: {"KAFKA" => settings, "MORE" => <<~RUBY})
          $stderr.puts PenstockApp.config.inspect, PenstockApp.config.to_h.inspect, PenstockApp.application.inspect
          PenstockApp.producer.inspect.then { |text| $stderr.puts text }
        RUBY
        server.await("its end, or that it runs") { server.ended? || server.log.match?(/ running \(pid/) }
        unless server.ended?
          server.signal(:TTIN)
          server.await_log(/flight recorder|Thread|main/)
          server.signal(:TERM)
          server.await_end
        end
        assert_unknown(server.log)
      end
    end
  end
end
