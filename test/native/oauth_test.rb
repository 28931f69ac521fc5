# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "support/api_producing"

# Requests for OAuth tokens; test/broker/security_test.rb has a broker that requires them.
class OAuthTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  KAFKA = {"bootstrap.servers": NOBODY, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "OAUTHBEARER"}.freeze

  # Provides a token that lasts two seconds.
  class Tokens
    attr_reader :asked

    def initialize
      @asked = Queue.new
    end

    def on_oauthbearer_token_refresh(event)
      event[:bearer].oauthbearer_set_token(token: "aaaa.bbbb.cccc", lifetime_ms: (Time.now.to_f * 1_000).to_i + 2_000,
        principal_name: "me")
      @asked << event
    end
  end

  test "[oauth refresh] a producer requests a token at once, and again before its token expires" do
    tokens = Tokens.new
    api(kafka: KAFKA) { |config| config.oauth.token_provider_listener = tokens }.produce_async(thing)
    wait_until(30, "a second request") { tokens.asked.size > 1 }

    assert_operator tokens.asked.size, :>, 1
  end

  test "[oauth refresh] an admin's client requests a token before its first call" do
    tokens = Tokens.new
    admin = Penstock::Admin.new(kafka: KAFKA, timeout_ms: 300, token_provider: tokens)
    assert_raises(Penstock::KafkaError, Penstock::WaitTimeoutError) { admin.cluster_info }

    assert_equal 1, tokens.asked.size
  ensure
    admin&.close
  end
end
