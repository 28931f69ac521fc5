# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/monitor"
require "penstock/instrumentation/token_provider"
require "penstock/native/bearer"

class TokenProviderTest < Penstock::TestCase
  # Accepts what a client would.
  class Client
    attr_reader :calls

    def initialize = @calls = []
    def oauthbearer_set_token(**token) = @calls << token
    def oauthbearer_set_token_failure(reason) = @calls << reason
  end

  def setup
    @client = Client.new
    @bearer = Penstock::Native::Bearer.new(@client)
    @monitor = Penstock::Instrumentation::Monitor.new
    @errors = []
    @monitor.subscribe("error.occurred") { |event| @errors << event.payload }
  end

  test "[OAuth refresh] the listener's token reaches the client that requested it" do
    ask { |bearer| bearer.oauthbearer_set_token(token: "t", lifetime_ms: 1, principal_name: "app", extensions: {"a" => "b"}) }

    assert_equal [{token: "t", lifetime_ms: 1, principal_name: "app", extensions: {"a" => "b"}}], @client.calls
    assert_predicate @bearer, :answered?
    assert_empty @errors
  end

  test "an error in the listener means no token and is reported; its message, maybe a secret, isn't passed to the client" do
    ask { raise IOError, "the token canary was refused" }

    assert_equal ["IOError: the OAuth token listener raised"], @client.calls
    assert_equal ["callbacks.oauthbearer_token_refresh.error", "p1"], @errors.first.values_at(:type, :producer_id)
  end

  test "an exception that isn't a StandardError means no token, too: the client must ask again" do
    [LoadError, NotImplementedError, SecurityError].each do |kind|
      ask { raise kind, "no" }

      assert_equal "#{kind}: the OAuth token listener raised", @client.calls.last
      assert_equal ["callbacks.oauthbearer_token_refresh.error", kind], [@errors.last[:type], @errors.last[:error].class]
    end
  end

  test "an exception that ends the process is raised again, after the client was answered" do
    [SystemExit, Interrupt, NoMemoryError].each do |kind|
      assert_raises(kind) { ask { raise kind, "end" } }
      assert_equal "#{kind}: the OAuth token listener raised", @client.calls.last
    end
    assert_empty @errors
  end

  test "a client that was closed while the listener raised gets no answer; the listener's error is reported anyway" do
    @client.define_singleton_method(:oauthbearer_set_token_failure) { |_reason| raise Penstock::HandleClosedError }
    ask { raise IOError, "no" }

    refute_predicate @bearer, :answered?
    assert_equal ["callbacks.oauthbearer_token_refresh.error"], @errors.map { |error| error[:type] }
  end

  test "a bearer exposes neither client nor token, and knows whether it was answered" do
    refute_predicate @bearer, :answered?
    assert_equal "#<Penstock::Native::Bearer waiting>", @bearer.inspect
    @bearer.oauthbearer_set_token(token: "canary", lifetime_ms: 1, principal_name: "app")

    assert_equal "#<Penstock::Native::Bearer answered>", @bearer.inspect
  end

  private

  Listener = Struct.new(:answer) do
    def on_oauthbearer_token_refresh(event) = answer.call(event[:bearer])
  end

  def ask(&answer)
    provider = Penstock::Instrumentation::TokenProvider.new(Listener.new(answer), @monitor, {producer_id: "p1"})
    @monitor.subscribe(provider)
    @monitor.instrument("oauthbearer.token_refresh", {bearer: @bearer})
  ensure
    @monitor.unsubscribe(provider)
  end
end
