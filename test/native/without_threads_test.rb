# frozen_string_literal: true

require "test_helper"
require "support/without_threads"

# What ends handles is a thread of its own. Where none can be made any more, who closes does it.
class WithoutThreadsTest < Penstock::TestCase
  include Penstock::TestSupport::WithoutThreads

  test "a consumer is closed all the same" do
    assert_equal '[:closed, "1", 0]', without_threads(<<~RUBY)
      require "penstock/native/consumer"
      consumer = Penstock::Native::Consumer.new({"bootstrap.servers" => "127.0.0.1:1", "group.id" => "readers"})
      ENV["NO_THREADS"] = "1"
      consumer.close(-1)
      print [consumer.state, ENV["REFUSED"], Penstock::Native.handle_count].inspect
    RUBY
  end

  test "a producer that gets no thread of its own isn't opened, and the process lives" do
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

  # Its request is asked in longer and longer slices: from the second one on it outlasts what a close waits for.
  test "an admin client with a request inside is closed when that has ended" do
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
