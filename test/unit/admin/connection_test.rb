# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  # When the token listener of an admin client is called.
  class AdminConnectionTest < TestCase
    # A listener that sets tokens with the given lifetimes, then none.
    Tokens = Struct.new(:lifetimes, :asked) do
      def on_oauthbearer_token_refresh(event)
        self.asked += 1
        lifetime = lifetimes.shift or return
        event[:bearer].oauthbearer_set_token(token: "a.b.c", principal_name: "me",
          lifetime_ms: Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) + lifetime)
      end
    end
    KAFKA = {"bootstrap.servers" => "127.0.0.1:1", "security.protocol" => "sasl_plaintext",
             "sasl.mechanisms" => "OAUTHBEARER"}.freeze

    test "the listener is called again when 80 % of the token's lifetime have passed, and not before" do
      tokens = Tokens.new([500, 3_600_000], 0)
      connect(tokens) do |connection|
        wait_until(10, "a second request") { connection.native(5_000) && tokens.asked == 2 }
        due_ms = connection.native(5_000).token_due_ms - Clock::SYSTEM.monotonic_ms

        assert_in_delta 0.8 * 3_600_000, due_ms, 60_000
        5.times { connection.native(5_000) }
        assert_equal 2, tokens.asked
      end
    end

    test "a listener that has set no token is not called again at once: it may still do so on another thread" do
      tokens = Tokens.new([], 0)
      connect(tokens) { |connection| 5.times { connection.native(5_000) } }

      assert_equal 1, tokens.asked
    end

    test "a listener that raised is called again by the next command, for the same client" do
      asked = 0
      tokens = Object.new
      tokens.define_singleton_method(:on_oauthbearer_token_refresh) { |_event| raise IOError, "no" if (asked += 1) == 1 }
      connect(tokens) do |connection|
        assert_raises(IOError) { connection.native(5_000) }
        assert_same connection.native(5_000), connection.native(5_000)
      end

      assert_equal 2, asked
    end

    test "a close doesn't wait for a listener that blocks" do
      inside = Queue.new
      tokens = Object.new
      tokens.define_singleton_method(:on_oauthbearer_token_refresh) do |_event|
        inside << true
        Queue.new.pop
      end
      caller = nil
      connect(tokens) do |connection|
        caller = Thread.new { connection.native(60_000) }
        inside.pop
        connection.close
        assert_raises(HandleClosedError) { connection.native(1) }
      end
    ensure
      caller&.kill&.join
    end

    private

    def connect(tokens)
      connection = Admin::Connection.new(KAFKA, token_provider: tokens)
      yield connection
    ensure
      connection&.close
    end
  end
end
