# frozen_string_literal: true

require "test_helper"
require "openssl"
require "tempfile"
require "tmpdir"
require "socket"
require "penstock/cli/doctor/build"
require "penstock/cli/doctor/memory"
require "penstock/cli/doctor/server"
require "penstock/cli/doctor/tls"

class DoctorTest < Penstock::TestCase
  Doctor = Penstock::CLI::Doctor

  test "the worst case of memory counts what librdkafka doesn't: keys, headers and 330 bytes per record" do
    kafka = {
      "queued.min.messages" => "10000", "queued.max.messages.kbytes" => "1000", "fetch.message.max.bytes" => "1000000",
      "fetch.max.bytes" => "1000000"
    }
    memory = Doctor::Memory.new(kafka, lanes: 10)
    records = (1_000_000 / 1_000) + (1_000_000 / 1_000)

    assert_equal (10 * records * (1_000 + 50 + 330)) + 1_000_000, memory.worst_case_bytes(1_000, 50)
  end

  test "small records are bounded by their number" do
    kafka = {"queued.min.messages" => "100", "queued.max.messages.kbytes" => "1000", "fetch.message.max.bytes" => "10000",
             "fetch.max.bytes" => "1000"}
    memory = Doctor::Memory.new(kafka, lanes: 1)

    assert_equal ((100 + 1_000) * 340) + 1_000_000, memory.worst_case_bytes(10)
  end

  test "a port that listens passes DNS and TCP" do
    with_listener do |port|
      assert_equal [["DNS", :ok], ["TCP", :ok]], states(Doctor::Server.new("127.0.0.1:#{port}"))
    end
  end

  test "a closed port fails at TCP and the hint reports that nothing listens" do
    port = with_listener { |free| free }
    step = Doctor::Server.new("127.0.0.1:#{port}").steps.last

    assert_equal ["TCP", :failed], [step.name, step.state]
    assert_includes step.hint, "nothing listens there"
  end

  test "an unknown name fails at DNS, and TCP isn't tried" do
    assert_equal [["DNS", :failed], ["TCP", :skipped]], states(Doctor::Server.new("no-such-host.invalid:9092"))
  end

  test "a port that is not a number is reported before anything is tried" do
    step = Doctor::Server.new("127.0.0.1:kafka").steps.first

    assert_equal :failed, step.state
    assert_includes step.detail, "a port that is not a number"
  end

  test "a protocol before the host name is ignored" do
    with_listener { |port| assert_equal :ok, Doctor::Server.new("SSL://127.0.0.1:#{port}").steps.last.state }
  end

  test "a certificate of an unknown authority fails at TLS and points to ssl.ca.location" do
    with_tls_listener do |port, _|
      step = Doctor::Tls.new({}).step("127.0.0.1", port)

      assert_equal :failed, step.state
      assert_includes step.hint, "ssl.ca.location"
    end
  end

  test "a certificate of a known authority passes TLS" do
    with_tls_listener do |port, ca|
      step = Doctor::Tls.new({"ssl.ca.location" => ca, "ssl.endpoint.identification.algorithm" => "none"})
        .step("127.0.0.1", port)

      assert_equal :ok, step.state, step.inspect
    end
  end

  test "a certificate for another name fails at TLS and the hint names the reason" do
    with_tls_listener do |port, ca|
      step = Doctor::Tls.new({"ssl.ca.location" => ca}).step("127.0.0.1", port)

      assert_equal :failed, step.state
      assert_includes step.hint, "another name"
    end
  end

  test "a client certificate that isn't valid now fails at TLS, without a connection, and the dates are named" do
    {[-7_200, -3_600] => /client.pem has expired on 20/,
     [3_600, 7_200] => /client.pem isn't valid before 20/}.each do |dates, seen|
      step = Dir.mktmpdir do |dir|
        File.write(path = File.join(dir, "client.pem"), self_signed(OpenSSL::PKey::RSA.new(2048), *dates).to_pem)
        Doctor::Tls.new({"ssl.certificate.location" => path}).step("127.0.0.1", 1)
      end

      assert_equal [:failed, "renew it, or correct this machine's clock"], [step.state, step.hint]
      assert_match(seen, step.detail)
    end
  end

  test "a listener without TLS fails at TLS" do
    with_listener(answer: "not a TLS record\n") do |port|
      step = Doctor::Tls.new({}).step("127.0.0.1", port)

      assert_equal :failed, step.state
      assert_includes step.hint, "this listener speaks no TLS: use the port of the broker's TLS listener"
    end
  end

  test "codecs and logins that weren't built in are named, with what doesn't work without them" do
    step = Doctor::Build.new(%w[snappy lz4 zstd ssl sasl_scram sasl_oauthbearer]).steps.last
    assert_equal [:warning, "snappy, lz4, zstd, ssl, sasl_scram, sasl_oauthbearer; no gzip: batches compressed with it can be " \
      "neither read nor sent; no tokens from an OIDC provider"], [step.state, step.detail]

    complete = Doctor::Build.new(%w[ssl sasl_scram sasl_oauthbearer gzip snappy lz4 zstd oidc])
    assert_equal :ok, complete.steps.last.state
  end

  private

  def states(server)
    server.steps.map { |step| [step.name, step.state] }
  end

  def with_listener(answer: nil, &block)
    serving(proc { |socket| socket.write(answer) if answer }, &block)
  end

  def with_tls_listener
    key = OpenSSL::PKey::RSA.new(2048)
    certificate = self_signed(key)
    context = OpenSSL::SSL::SSLContext.new
    context.cert = certificate
    context.key = key
    Tempfile.create("ca") do |file|
      file.write(certificate.to_pem)
      file.flush
      listening(context) { |port| yield port, file.path }
    end
  end

  def listening(context, &block)
    serving(proc { |socket| OpenSSL::SSL::SSLSocket.new(socket, context).accept }, &block)
  end

  # Yields the port of a server that hands each connection to the greeting and then reads it to its end.
  def serving(greeting)
    listener = TCPServer.new("127.0.0.1", 0)
    stopped, stop = IO.pipe
    thread = Thread.new { serve(listener, greeting) while IO.select([listener, stopped]).first == [listener] }
    yield listener.local_address.ip_port
  ensure
    stop.close
    thread.join
    [listener, stopped].each(&:close)
  end

  def serve(listener, greeting)
    socket = listener.accept
    greeting.call(socket)
    socket.read
  rescue OpenSSL::SSL::SSLError, SystemCallError, IOError
    nil
  ensure
    socket&.close
  end

  def self_signed(key, from_s = -60, to_s = 3_600)
    OpenSSL::X509::Certificate.new.tap do |certificate|
      certificate.version = 2
      certificate.serial = 1
      certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=kafka.test")
      certificate.public_key = key.public_key
      certificate.not_before = Time.now + from_s
      certificate.not_after = Time.now + to_s
      certificate.sign(key, OpenSSL::Digest.new("SHA256"))
    end
  end
end
