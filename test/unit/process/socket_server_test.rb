# frozen_string_literal: true

require "test_helper"
require "penstock/process/socket_server"
require "penstock/runtime/threads"

module Penstock
  class SocketServerTest < TestCase
    BIG = "x" * (8 * 1024 * 1024) # more than the buffers of a socket hold

    def setup
      super
      @answers = Hash.new { |_hash, request| "you said #{request.inspect}" }
      socket = TCPServer.new("127.0.0.1", 0)
      @port = socket.addr[1]
      @threads = Runtime::Threads.new(->(_name, error) { raise error })
      @server = ServerProcess::SocketServer.new(socket, ending: ".", longest: 64) { |request| @answers[request] }
      @server.start(@threads, "test server")
    end

    def teardown
      @server.close
      wait_until(20) { @threads.living.empty? }
      super
    end

    def client = TCPSocket.new("127.0.0.1", @port)

    def ask(text)
      socket = client
      socket.write(text)
      assert socket.wait_readable(40), "no answer to #{text.inspect}"
      socket.read
    ensure
      socket.close
    end

    test "one after another is answered, whatever bytes it sends" do
      assert_equal ['you said "a."', 'you said "\xFF."'], [ask("a."), ask("\xFF.")]
    end

    test "who asks byte by byte is cut off, and keeps the next one waiting no longer" do
      dripping = client
      dripping.write("a")
      waiting = client
      waiting.write("b.")

      wait_until(40, "the end of the one that drips") { drip(dripping) && waiting.wait_readable(0.02) }
      assert_equal 'you said "b."', waiting.read
    ensure
      [dripping, waiting].each { |socket| socket&.close }
    end

    test "who doesn't read its answer keeps the next one waiting no longer" do
      @answers["big."] = BIG
      deaf = client
      deaf.write("big.")

      assert_equal 'you said "b."', ask("b.")
    ensure
      deaf&.close
    end

    test "a long answer comes whole" do
      @answers["big."] = BIG

      assert_equal BIG.bytesize, ask("big.").bytesize
    end

    test "a request that is too long isn't answered" do
      assert_equal "", ask("a" * 64)
    end

    test "without a descriptor to spare it goes on when there is one" do
      accepts = [-> { raise Errno::EMFILE }, -> { raise Errno::ECONNABORTED }]
      socket = TCPServer.new("127.0.0.1", 0)
      socket.define_singleton_method(:accept) { (failing = accepts.shift) ? failing.call : super() }
      server = ServerProcess::SocketServer.new(socket, ending: ".", longest: 64) { "here" }
      server.start(@threads, "starved server")
      @port = socket.local_address.ip_port

      assert_equal "here", ask("a.")
      assert_empty accepts
    ensure
      server.close
    end

    private

    # @return [true]
    def drip(socket)
      socket.write("a")
      true
    rescue Errno::EPIPE, Errno::ECONNRESET
      true
    end
  end
end
