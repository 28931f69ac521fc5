# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require_relative "../../support/accepting"
require_relative "../../support/cluster/fault_proxy"
require_relative "../../support/cluster/server_ports"

# The proxy in front of the brokers of a test cluster, with a server that answers each frame with the frame itself.
class FaultProxyTest < Penstock::TestCase
  FaultProxy = Penstock::TestSupport::FaultProxy
  ServerPorts = Penstock::TestSupport::ServerPorts

  # Answers the correlation id and the bytes after the client id.
  class Echo
    attr_reader :received

    def initialize(port)
      @server = TCPServer.new("127.0.0.1", port)
      @received = Queue.new
      @threads = [Thread.new { accept }]
    end

    def close
      @server.close
      @threads.first.join # a connection that it has just accepted is among those to close
      @sockets.to_a.each { |socket| socket.close unless socket.closed? }
      @threads.each(&:join)
    end

    private

    def accept
      Penstock::TestSupport::Accepting.each(@server) do |socket|
        (@sockets ||= []) << socket
        @threads << Thread.new { serve(socket) }
      end
    rescue IOError, SystemCallError
      nil
    end

    def serve(socket)
      while (length = socket.read(4)&.unpack1("N"))
        body = socket.read(length)
        break unless body&.bytesize == length
        @received << body
        api, _version, correlation, client = body.unpack("s>s>l>s>")
        rest = body.byteslice((10 + client)..)
        socket.write([rest.bytesize + 4, correlation].pack("Nl>"), rest) unless api == 99
      end
    rescue IOError, SystemCallError
      nil
    end
  end

  # A client with one connection.
  class Client
    attr_reader :socket

    def initialize(port, name = "client")
      @socket = Socket.tcp("127.0.0.1", port, connect_timeout: 2)
      @name = name
      @correlation = 0
    end

    def send_frame(api, payload)
      body = [api, 0, @correlation += 1, @name.bytesize].pack("s>s>l>s>") + @name + payload
      @socket.write([body.bytesize].pack("N") + body)
      @correlation
    end

    # @return [(Integer, String), nil] correlation id and payload; nil when nothing arrives
    def receive(seconds = 5)
      return unless @socket.wait_readable(seconds)
      length = @socket.read(4)&.unpack1("N") or return :closed
      body = @socket.read(length)
      [body.unpack1("l>"), body.byteslice(4..)]
    rescue Errno::ECONNRESET
      :reset
    end

    def call(api, payload, seconds = 5)
      send_frame(api, payload)
      answer = receive(seconds)
      answer.is_a?(Array) ? answer.last : answer
    end
  end

  def setup
    super
    @dir = Dir.mktmpdir
    @port, @target, control = ServerPorts.take(3)
    @echo = Echo.new(@target)
    @proxy = FaultProxy.new(control_port: control, links: {1 => [@port, @target]}, log: File.join(@dir, "log"))
    @proxy.start
    await_mode(:open)
    @clients = []
  end

  def teardown
    @clients.each { |client| client.socket.close }
    @proxy.stop
    @echo.close
    FileUtils.rm_rf(@dir)
    super
  end

  def client(name = "client") = Client.new(@port, name).tap { |made| @clients << made }

  def await_mode(mode)
    wait_until(5, "mode #{mode}") { @proxy.stats[:links].first.mode == mode }
  end

  def log = File.readlines(File.join(@dir, "log"))

  test "frames of any size and number come through in both directions, over many connections" do
    sizes = [0, 1, 100, 70_000, 3_000_000]
    threads = Array.new(40) do |index|
      one = client("client-#{index}")
      Thread.new { sizes.map { |size| one.call(index % 30, "x" * size).bytesize } }
    end
    assert_equal [sizes], threads.map(&:value).uniq
    link = @proxy.stats[:links].first
    assert_equal [200, 200, 40], [link.requests, link.responses, link.open]
  end

  test "a frame that arrives in pieces is one frame" do
    one = client
    body = [3, 0, 7, 6].pack("s>s>l>s>") + "client" + "abc"
    ([body.bytesize].pack("N") + body).each_char do |char|
      one.socket.write(char)
      Thread.pass
    end
    assert_equal [7, "abc"], one.receive
    assert_equal 1, @proxy.stats[:links].first.requests
  end

  test "the response of a given API is dropped as often as requested, and no other" do
    rule = @proxy.drop(api: :find_coordinator, side: :response, times: 1)
    one = client
    assert_equal "a", one.call(3, "a")
    assert_nil one.call(10, "b", 0.3)
    assert_equal "c", one.call(10, "c")
    assert_equal 1, @proxy.hits(rule)
    assert_match(/\A\d+ #{rule} 1 client drop 10\n\z/, log.last)
    one.send_frame(99, "no answer") # as a Produce without acknowledgement
    assert_equal "d", one.call(10, "d")
  end

  test "a dropped request never arrives; the requests after it do" do
    @proxy.drop(api: :metadata, side: :request)
    one = client
    one.send_frame(3, "a")
    assert_equal "b", one.call(1, "b")
    assert_equal 1, @echo.received.size
  end

  test "a delayed response delays those after it on its connection, and no other connection" do
    @proxy.delay(300, api: :fetch, side: :response, client: "slow")
    slow, quick = client("the slow one"), client("quick")
    began = clock
    slow.send_frame(1, "a")
    slow.send_frame(3, "b")
    assert_equal "c", quick.call(1, "c")
    assert_operator clock - began, :<, 0.25
    assert_equal %w[a b], [slow.receive.last, slow.receive.last]
    assert_operator clock - began, :>=, 0.3
  end

  test "the n-th request of an API is cut after the given number of bytes, and the connection is reset" do
    @proxy.cut(6, api: :end_txn, skip: 1, times: 1)
    one = client
    assert_equal "a", one.call(26, "a")
    one.send_frame(26, "b")
    assert_equal :reset, one.receive
    assert_equal 1, @echo.received.size
    assert_equal "c", client.call(26, "c")
  end

  test "a response may be cut, too: the server has handled the request, and the client gets no answer" do
    @proxy.cut(0, api: :produce, side: :response)
    one = client
    one.send_frame(0, "done")
    assert_equal :reset, one.receive
    wait_until(5, "the request") { @echo.received.size == 1 }
    assert_equal 1, @echo.received.size
  end

  test "flipped bits: as many as requested, in the bytes after the head" do
    @proxy.seed(7)
    @proxy.corrupt(3, api: :fetch, side: :response)
    payload = "\0" * 1_000
    answer = client.call(1, payload)
    assert_equal 1_000, answer.bytesize
    assert_includes 1..3, answer.unpack1("B*").count("1")
  end

  test "flipped bits of a text: one byte of as many occurrences as requested, and nothing else" do
    @proxy.corrupt(2, text: "record", api: :fetch, side: :response)
    payload = "head record record record end"
    answer = client.call(1, payload)
    changed = payload.bytes.zip(answer.bytes).each_index.select { |index| payload.getbyte(index) != answer.getbyte(index) }

    assert_equal [1, 1], [changed.count { |at| at.between?(5, 10) }, changed.count { |at| at.between?(12, 17) }]
    assert_equal 2, changed.size
  end

  test "a response that declares a longer length than it has" do
    @proxy.lie(100, api: :fetch, side: :response)
    one = client
    one.send_frame(1, "abc")
    assert_equal 4 + 3 + 100, one.socket.read(4).unpack1("N")
  end

  test "a muted direction: nothing passes any more, while the other direction works" do
    @proxy.mute(api: :heartbeat, side: :response)
    one = client
    assert_equal "a", one.call(3, "a")
    assert_nil one.call(12, "b", 0.2)
    assert_nil one.call(3, "c", 0.2)
    assert_equal 3, @echo.received.size
    assert_equal "d", client.call(3, "d")
  end

  test "a request, or a response, that arrives twice" do
    @proxy.double(api: :offset_commit)
    one = client
    one.send_frame(8, "a")
    assert_equal [[1, "a"], [1, "a"]], [one.receive, one.receive]
    @proxy.clear
    @proxy.double(api: :offset_commit, side: :response)
    one.send_frame(8, "b")
    assert_equal [[2, "b"], [2, "b"]], [one.receive, one.receive]
    assert_equal 3, @echo.received.size
  end

  test "connections are reset by client, or all" do
    first, second, third = client("app-1"), client("app-2"), client("other")
    [first, second, third].each { |one| one.call(3, "x") }
    assert_equal 1, @proxy.reset(client: "app-2")
    assert_equal [nil, :reset], [first.receive(0.05), second.receive(1)]
    assert_equal 2, @proxy.reset
    assert_equal :reset, third.receive(1)
  end

  test "a link that is down refuses connections, until it is opened again" do
    one = client
    one.call(3, "x")
    @proxy.link(1, mode: :down)
    assert_equal :reset, one.receive(1)
    assert_raises(Errno::ECONNREFUSED) { client }
    @proxy.link(1, mode: :open)
    assert_equal "y", client.call(3, "y")
  end

  test "a server that has ended: the proxy closes its port, too, until the server is back" do
    @echo.close
    assert_equal :reset, first_outcome
    await_mode(:waiting)
    assert_raises(Errno::ECONNREFUSED, Errno::ECONNRESET) { client } # reset: while it closes
    @echo = Echo.new(@target)
    await_mode(:open)
    assert_equal "x", client.call(3, "x")
  end

  # The reset may arrive before the client knows that it is connected.
  def first_outcome
    client.receive(2)
  rescue Errno::ECONNRESET
    :reset
  end

  test "a frozen link holds everything until it is thawed" do
    one = client
    one.call(3, "x")
    @proxy.link(1, mode: :frozen)
    assert_nil one.call(3, "y", 0.2)
    @proxy.link(1, mode: :open)
    assert_equal [2, "y"], one.receive(1)
  end

  test "a slow link: the rate holds for each direction, and latency is added to each frame" do
    @proxy.link(1, rate: 1_000_000)
    began = clock
    client.call(3, "x" * 600_000)
    assert_includes 0.4..6, clock - began
    @proxy.link(1, rate: 0, latency: 100)
    began = clock
    client.call(3, "x")
    assert_operator clock - began, :>=, 0.2
  end

  test "an invalid command is refused with a message" do
    assert_match(/no such link/, assert_raises(FaultProxy::Error) { @proxy.link(7, latency: 1) }.message)
    assert_match(/unknown name/, assert_raises(FaultProxy::Error) { @proxy.drop(nonsense: 1) }.message)
  end

  private

  def clock = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
end
