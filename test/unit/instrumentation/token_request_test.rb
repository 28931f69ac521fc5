# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/token_request"

class TokenRequestTest < Penstock::TestCase
  Client = Struct.new(:token) do
    def oauthbearer_set_token(**token) = self.token = token
  end
  Listener = Struct.new(:answer) do
    def on_oauthbearer_token_refresh(event) = answer.call(event[:bearer])
  end
  TOKEN = {token: "t", lifetime_ms: 1, principal_name: "app"}.freeze

  test "the listener's token reaches the client; a listener that sets none leaves the request unanswered" do
    client = Client.new
    assert_predicate ask(client) { |bearer| bearer.oauthbearer_set_token(**TOKEN) }, :answered?
    assert_equal "t", client.token[:token]
    refute_predicate ask {}, :answered?
  end

  test "what the listener raises is raised in the caller, also a LoadError" do
    [KeyError, LoadError].each { |kind| assert_raises(kind) { ask { raise kind, "no" } } }
  end

  test "a listener that blocks is named after its time limit, and its thread is ended" do
    thread = nil
    late = assert_raises(Penstock::WaitTimeoutError) do
      ask(limit_ms: 50) do
        thread = Thread.current
        Queue.new.pop
      end
    end

    assert_includes late.message, "the token provider (TokenRequestTest::Listener) gave no answer within 0.05 s"
    assert thread.join(5)
  end

  private

  def ask(client = Client.new, limit_ms: 10_000, &answer)
    Penstock::Instrumentation::TokenRequest.call(Listener.new(answer), client, limit_ms)
  end
end
