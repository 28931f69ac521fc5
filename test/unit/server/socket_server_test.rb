# frozen_string_literal: true

require "test_helper"
require "io/wait"
require "penstock/server/socket_server"
require "penstock/runtime/threads"
require "support/ruby_program"

module Penstock
  class SocketServerTest < TestCase
    BIG = "x" * (8 * 1024 * 1024) # more than a socket's buffers hold

    def setup
      super
      @answers = Hash.new { |_hash, request| "you said #{request.inspect}" }
      @reported = []
      @threads = Runtime::Threads.new(->(_name, error) { @reported << error })
      @clients = []
    end

    def teardown
      @clients.each(&:close)
      @server&.close
      wait_until(20, "the end of its threads", state: -> { @threads.living.map(&:name) }) { @threads.living.empty? }
      super
    end

    # @yieldparam socket [TCPServer] before any client is served
    def serve(**options)
      socket = TCPServer.new("127.0.0.1", 0)
      @port = socket.local_address.ip_port
      yield socket if block_given?
      options = {ending: /\./, longest: 64, client_s: 60, **options}
      @server = Server::SocketServer.new(socket, **options) { |request| @answers[request] }
      @server.start(@threads, "test server")
    end

    def client(*parts)
      socket = TCPSocket.new("127.0.0.1", @port)
      @clients << socket
      parts.each { |part| socket.write(part) }
      socket
    end

    def answer(socket)
      assert socket.wait_readable(40), "no answer"
      socket.read
    end

    def ask(text) = answer(client(text))

    # @return [Boolean] whether the server has closed it in any way
    def closed?(socket)
      socket.wait_readable(0) ? socket.read_nonblock(1, exception: false).nil? : false
    rescue Errno::ECONNRESET
      true
    end

    test "each client is answered, with any bytes in pieces of any size" do
      serve

      assert_equal ['you said "a."', 'you said "\xFF."'], [ask("a."), ask("\xFF.")]
      assert_equal 'you said "ab."', answer(client("a", "b", "."))
    end

    test "clients that are silent, slow, or don't read their answer delay nobody" do
      @answers["big."] = BIG
      serve
      others = Array.new(60) { |index| client(*[[], ["a"], ["big."]][index % 3]) }

      assert_equal 'you said "b."', ask("b.")
      assert(others.none? { |socket| socket.closed? || closed?(socket) }, "the answer had to wait for nobody's end")
    end

    test "a client has one time limit, from its first byte to the end of its answer" do
      @answers["big."] = BIG
      serve(client_s: 0.1)
      dripping, silent, deaf = client("a"), client, client("big.")

      wait_until(20, "the end of the one that drips") { drip(dripping) }
      wait_until(20, "the end of the silent one") { closed?(silent) }
      assert_operator drained(deaf), :<, BIG.bytesize
      assert_equal 'you said "b."', ask("b.")
    end

    test "at the maximum the oldest connection is closed for a new one, but not for a client whose request has arrived" do
      gate = Queue.new
      @answers.default_proc = proc { |_hash, request| (request == "gate.") ? gate.pop : "fine" }
      serve(most: 4)
      silent = Array.new(4) { client("a") }
      wait_until(20, "all of them") { descriptors >= 4 }
      held = client("gate.")
      wait_until(20, "a server that is held up") { gate.num_waiting == 1 }
      waiting = Array.new(5) { client("b.") }
      gate << "open"

      assert_equal %w[open fine fine fine fine fine], [held, *waiting].map { |socket| answer(socket) }
      gone = silent.count { |socket| closed?(socket) }
      assert_operator gone, :<=, 1, "the request that held it up may have come after its connection; none of the others did"
      (gone + 1).times { client("c") } # one more than there is room for

      wait_until(20, "the end of the oldest") { silent.map { |socket| closed?(socket) }.index(false) == gone + 1 }
    end

    test "a flood of connections leaves no more than the maximum open, and a request is answered" do
      serve(most: 16)
      before = descriptors
      500.times { client }

      assert_equal 'you said "b."', ask("b.")
      wait_until(20, "the end of what is too many", state: -> { descriptors }) { descriptors - before <= 16 }
    end

    test "a request that came while the server was held up is answered, although its time has passed or others need its place" do
      gate = Queue.new
      @answers.default_proc = proc { |_hash, request| (request == "gate.") ? gate.pop : "fine" }
      serve(most: 2, client_s: 0.3)
      early = client("b")
      wait_until(20, "it") { descriptors == 1 }
      held = client("gate.")
      wait_until(20, "a server that is held up") { gate.num_waiting == 1 }
      early.write(".")
      others = Array.new(10) { client("c") }
      observe_for(0.4) # their time has passed
      gate << "open"

      assert_equal %w[open fine], [held, early].map { |socket| answer(socket) }
      others.each { |socket| wait_until(20, "the end of the others") { closed?(socket) } }
    end

    test "a long answer is complete" do
      @answers["big."] = BIG
      serve

      assert_equal BIG.bytesize, ask("big.").bytesize
    end

    test "a request that is too long gets its answer, also from a client that never ends" do
      serve(too_long: "too long")

      assert_equal "too long", ask("a" * 64)
      endless = client
      wait_until(20, "the end of an endless request") { write(endless, "a" * 10_000) }
      assert_equal 'you said "b."', ask("b.")
    end

    test "bytes after a request's end don't cost its answer" do
      serve

      assert_equal 'you said "a."', ask("a.#{"b" * 4_000}.")
      assert_equal 'you said "a."', answer(client("a.", "b" * 20_000))
    end

    test "an answer that fails closes its connection, is reported once, and ends nothing" do
      @answers["bad."] = nil
      @answers.default_proc = proc { |_hash, request| request.start_with?("raise") ? raise(NotImplementedError, "no") : "fine" }
      serve

      assert_equal ["", "", "", "fine"], [ask("raise."), ask("raise."), ask("bad."), ask("b.")]
      assert_equal ["no"], @reported.map(&:message)
    end

    test "a failure in the middle of a turn closes open connections, is reported, and the server continues" do
      failures = [-> { raise "defect" }]
      serve { |socket| accepting(socket, failures) }

      assert_equal 'you said "a."', ask("a.")
      assert_equal ["defect"], @reported.map(&:message)
    end

    # In a process of its own, in which each descriptor counts: two connections at once, and no more.
    STARVED = <<~'RUBY'
      require "penstock/server/socket_server"
      socket = TCPServer.new("127.0.0.1", 0)
      $stdout.puts(socket.local_address.ip_port)
      $stdout.flush
      rules = {ending: /\./, longest: 64, client_s: 60}
      server = Penstock::Server::SocketServer.new(socket, **rules) { |text| "you said #{text}" }
      held = []
      begin
        loop { held << File.open(File::NULL) }
      rescue Errno::EMFILE
        held.pop.close
      end
      server.run([$stdin])
    RUBY

    test "without a free descriptor every request is answered, one after another, and silent clients are closed" do
      output, child_output = IO.pipe
      input, held = IO.pipe
      pid = spawn(*TestSupport::RubyProgram.command("-e", STARVED), out: child_output, in: input, rlimit_nofile: 64)
      [child_output, input].each(&:close)
      @port = Integer(output.gets)
      silent = Array.new(20) { client("a") }

      20.times { assert_equal "you said b.", ask("b.") }
      assert_operator silent.count { |socket| !closed?(socket) }, :<=, 2
      slow = client("c")
      observe_for(0.1)
      slow.write(".")
      assert_equal "you said c.", answer(slow), "it needs no room that nobody else wants"
    ensure
      [output, held].each(&:close)
      ::Process.wait(pid)
    end

    test "without any descriptor it waits between two tries, and continues when one is available" do
      tries = 0
      starved = true
      serve do |socket|
        socket.define_singleton_method(:accept_nonblock) do |**options|
          tries += 1
          starved ? raise(Errno::EMFILE) : super(**options)
        end
      end
      waiting = client("a.")
      wait_until(20, "three tries") { tries >= 4 } # the first uses the spare descriptor
      turns = tries
      observe_for(0.5)
      assert_operator tries - turns, :<=, 14, "twice every 0.1 s: before and after it used the spare descriptor"
      starved = false

      assert_equal 'you said "a."', answer(waiting)
    end

    test "a client that disconnects before it is accepted causes no pause" do
      serve { |socket| accepting(socket, Array.new(50) { -> { raise Errno::ECONNABORTED } }) }

      assert_equal 'you said "a."', ask("a.")
    end

    test "close ends the thread, its connections and the socket, whose port can be reused at once" do
      serve
      silent = client("a")
      wait_until(20, "it") { descriptors.positive? }
      @server.close

      assert_empty @threads.living
      assert closed?(silent)
      assert_raises(Errno::ECONNREFUSED) { client }
      20.times do
        @server = Server::SocketServer.new(TCPServer.new("127.0.0.1", @port), ending: /\./, longest: 64) { "again" }
        @server.start(@threads, "test server")
        assert_equal "again", ask("a.")
        @server.close
      end
    end

    test "a forked child that forgets keeps nothing of it, and the parent's server continues" do
      serve
      silent = client("a")
      wait_until(20, "it") { descriptors.positive? }
      child = fork do
        before = Dir.children("/proc/self/fd").size
        @server.forget
        exit!((before - Dir.children("/proc/self/fd").size >= 5) ? 0 : 1) # socket, connection, two ends of a pipe, a spare
      end

      assert_predicate ::Process.wait2(child).last, :success?
      refute closed?(silent)
      assert_equal 'you said "b."', ask("b.")
    end

    test "watched streams end a server that runs on its caller's thread" do
      socket = TCPServer.new("127.0.0.1", 0)
      @port = socket.local_address.ip_port
      server = Server::SocketServer.new(socket, ending: /\./, longest: 64) { "here" }
      reader, writer = IO.pipe
      thread = Thread.new { server.run([reader]) }

      assert_equal "here", ask("a.")
      writer.close
      assert thread.join(20)
      assert_predicate socket, :closed?
    ensure
      reader.close
    end

    # Random bytes in random pieces from clients that connect, stop, half-close and vanish at random.
    test "property: after any client behaviour the next request is answered" do
      random = Random.new(Integer(ENV.fetch("PENSTOCK_FUZZ_SEED", "7")))
      serve(most: 8, client_s: 0.2)
      200.times do
        misbehave(client, random)
        assert_equal 'you said "b."', ask("b.") if random.rand(10).zero?
      end

      assert_equal 'you said "b."', ask("b.")
      assert_empty @reported
    end

    private

    def misbehave(socket, random)
      random.rand(4).times { socket.write(random.rand(8).zero? ? "." : random.bytes(random.rand(200)).tr(".", "x")) }
      case random.rand(4)
      when 0 then socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      when 1 then return socket.close_write
      when 2 then return
      end
      socket.close
    rescue Errno::EPIPE, Errno::ECONNRESET, Errno::ENOTCONN
      nil
    end

    # Calls the listed methods instead, one each.
    def accepting(socket, failures)
      socket.define_singleton_method(:accept_nonblock) do |**options|
        failing = failures.shift
        failing ? failing.call : super(**options)
      end
    end

    # Of the server's side: its connections.
    def descriptors = @server.instance_variable_get(:@connections).size

    # @return [Boolean] whether the other side has ended it
    def drip(socket) = write(socket, "a")

    def write(socket, bytes)
      socket.write_nonblock(bytes, exception: false)
      false
    rescue Errno::EPIPE, Errno::ECONNRESET
      true
    end

    # @return [Integer] bytes that came before its end
    def drained(socket)
      count = 0
      loop { count += socket.readpartial(1 << 20).bytesize }
    rescue EOFError, Errno::ECONNRESET
      count
    end
  end
end
