# frozen_string_literal: true

require "test_helper"
require "support/without_threads"

# Handles are ended by a thread of their own. If none can be created any more, the closing thread does it.
class WithoutThreadsTest < Penstock::TestCase
  include Penstock::TestSupport::WithoutThreads

  test "a consumer is still closed" do
    assert_equal '[:closed, "1", 0]', without_threads(<<~RUBY)
      require "penstock/native/consumer"
      consumer = Penstock::Native::Consumer.new({"bootstrap.servers" => "127.0.0.1:1", "group.id" => "readers"})
      ENV["NO_THREADS"] = "1"
      consumer.close(-1)
      print [consumer.state, ENV["REFUSED"], Penstock::Native.handle_count].inspect
    RUBY
  end

  test "a producer that gets no thread of its own isn't opened, and the process survives" do
    assert_equal "[:crit_sys_resource, true, 0, 0]", without_threads(<<~RUBY)
      require "penstock/native/producer"
      ENV["NO_THREADS"] = "own"
      begin
        Penstock::Native::Producer.new({"bootstrap.servers" => "127.0.0.1:1"})
      rescue Penstock::KafkaError => error
        print [error.code, error.message.include?("thread"), Penstock::Native.thread_count, Penstock::Native.handle_count].inspect
      end
    RUBY
  end

  # Its request is repeated with growing timeouts: from the second one on it outlasts the wait of a close.
  test "an admin client with a request inside is closed when the request has ended" do
    assert_equal "[:closed, :ended]", without_threads(<<~RUBY)
      require "penstock/native/admin"
      admin = Penstock::Native::Admin.new({"bootstrap.servers" => "127.0.0.1:1"})
      asker = Thread.new { admin.metadata(nil, 30_000) rescue :ended }
      from = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      wait_until { ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) > from + 2 }
      ENV["NO_THREADS"] = "1"
      admin.close
      print [admin.state, asker.value].inspect
    RUBY
  end
end
