# frozen_string_literal: true

require "test_helper"
require "digest"
require "fileutils"
require "rubygems/package"
require "socket"
require "stringio"
require "tmpdir"
require "zlib"
require_relative "../../../ext/penstock_kafka/tarball"
require "support/ruby_program"

# How librdkafka's source is fetched: from servers of our own on this machine.
class DownloadTest < Penstock::TestCase
  SOURCE = Random.new(7).bytes(300_000)
  PIN = {"version" => "9.9.9", "sha256" => Digest::SHA256.hexdigest(SOURCE), "upstream" => "http://127.0.0.1:1/source",
         "gem" => {"name" => "carrier", "version" => "1.2.3", "file" => "dist/source.tar.gz"}}.freeze

  # Answers each request from a table of paths, and records the requests.
  class Server
    attr_reader :requests

    def initialize(pages = {})
      @pages = pages
      @requests = []
      @server = TCPServer.new("127.0.0.1", 0)
      @thread = Thread.new { loop { answer(@server.accept) } }
    end

    def address(path = "") = "http://127.0.0.1:#{@server.addr[1]}/#{path}"

    def close
      @thread.kill.join
      @server.close
    end

    private

    def answer(socket)
      head = socket.gets("\r\n\r\n")
      @requests << head
      page = @pages[head[%r{\AGET /(\S*)}, 1]]
      status, more =
        case page
        when nil then "404 Not Found"
        when Symbol then ["302 Found", "location: #{page}\r\n"]
        else "200 OK"
        end
      body = page.to_s
      socket.write("HTTP/1.1 #{status}\r\n#{more}content-length: #{body.bytesize}\r\nconnection: close\r\n\r\n", body)
    ensure
      socket.close
    end
  end

  def setup
    super
    @dir = Dir.mktmpdir("download")
    @out = StringIO.new
  end

  def teardown
    @servers&.each(&:close)
    FileUtils.remove_entry(@dir)
    super
  end

  test "a file is downloaded as it is; its progress is one line with tenths, without the password" do
    server = server("large" => SOURCE, "small" => "tiny")
    path = Download.new(server.address("large").sub("//", "//user:p%40ss@"), out: @out).to(file("x"))

    assert_equal SOURCE, File.binread(path)
    assert_equal "#{server.address("large")}: 0.3 MB #{(1..10).map { |tenth| "#{tenth * 10} %" }.join(" ")}\n", @out.string
    assert_match(/^authorization: Basic #{["user:p@ss"].pack("m0")}\r$/i, server.requests.first)

    Download.new(server.address("small"), out: @out).to(file("y"))
    assert_equal "tiny", File.read(file("y"))
  end

  test "redirects are followed" do
    target = server("large" => SOURCE)
    server = server("moved" => target.address("large").to_sym)

    assert_equal SOURCE, File.binread(Download.new(server.address("moved"), out: @out).to(file("x")))
  end

  test "an address that isn't http is refused with its scheme" do
    error = assert_raises(ArgumentError) { Download.new("file:///etc/hosts").to(file("x")) }
    assert_match(/file address, not http/, error.message)
  end

  test "where upstream can't be reached, one gem is downloaded by its address: no index is asked for" do
    server = server("gems/carrier-1.2.3.gem" => packed("README" => "x", "dist/source.tar.gz" => SOURCE, "later" => "y"))
    path = tarball(server.address.chomp("/")).path

    assert_equal SOURCE, File.binread(path)
    assert_equal [["GET /gems/carrier-1.2.3.gem HTTP/1.1\r\n"], [File.basename(path)]],
      [server.requests.map { |head| head.lines.first }, Dir.children(@dir)]
    assert_match(/could not be fetched from the upstream release: .*Connection refused.*\n.*carrier-1\.2\.3\.gem: 0\.3 MB 10 %/,
      @out.string)
  end

  test "the next gem source is tried; when none has it, the message names each with its error, without passwords" do
    empty = server
    wrong = server("gems/carrier-1.2.3.gem" => packed("README" => "x"))
    right = server("gems/carrier-1.2.3.gem" => packed("dist/source.tar.gz" => SOURCE))
    message = assert_raises(Tarball::Error) { tarball(empty.address.sub("//", "//user:secret@"), wrong.address).path }.message

    assert_includes message, "#{empty.address}gems/carrier-1.2.3.gem: 404 Not Found"
    assert_includes message, "does not contain dist/source.tar.gz"
    refute_includes message + @out.string, "secret"
    assert_path_exists tarball(empty.address, right.address).path
  end

  test "a gem with another file than the pinned one stops the build" do
    server = server("gems/carrier-1.2.3.gem" => packed("dist/source.tar.gz" => "altered"))

    assert_includes assert_raises(Tarball::Error) { tarball(server.address).path }.message, Digest::SHA256.hexdigest("altered")
    assert_empty Dir.children(@dir)
  end

  test "what is no gem is refused with its name" do
    File.write(file("x.gem"), "x" * 1_024)
    File.binwrite(file("y.gem"), tar("other" => "x"))

    assert_match(/y\.gem is no gem/, assert_raises(IOError) { PackedFile.new(file("y.gem"), "a").extract_to(file("z")) }.message)
    assert_raises(Gem::Package::Error, ArgumentError) { PackedFile.new(file("x.gem"), "a").extract_to(file("z")) }
  end

  test "memory doesn't depend on the size of the gem" do
    File.binwrite(file("large.gem"), packed("before" => "x" * 120_000_000, "wanted" => SOURCE))
    output, = Penstock::TestSupport::RubyProgram.run(<<~RUBY, timeout: 60)
      require #{File.expand_path("../../../ext/penstock_kafka/packed_file", __dir__).inspect}
      kilobytes = -> { Integer(File.read("/proc/self/status")[/^VmHWM:\\s+(\\d+)/, 1]) }
      before = kilobytes.call
      PackedFile.new(#{file("large.gem").inspect}, "wanted").extract_to(#{file("wanted").inspect})
      puts kilobytes.call - before
    RUBY

    assert_equal SOURCE, File.binread(file("wanted"))
    assert_operator Integer(output), :<, 70_000, "kilobytes, with which a file of 120,000 was skipped"
  end

  private

  def server(pages = {}) = Server.new(pages).tap { |server| (@servers ||= []) << server }
  def file(name) = File.join(@dir, name)
  def tarball(*sources) = Tarball.new(PIN, folder: @dir, env: {}, out: @out, gem_sources: sources)
  def packed(**files) = tar("metadata.gz" => "", "data.tar.gz" => Zlib.gzip(tar(**files), level: 1))

  def tar(**files)
    io = StringIO.new("".b)
    Gem::Package::TarWriter.new(io) do |writer|
      files.each { |name, body| writer.add_file_simple(name.to_s, 0o644, body.bytesize) { |entry| entry.write(body) } }
    end
    io.string
  end
end
