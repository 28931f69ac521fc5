# frozen_string_literal: true

require "open-uri"

# Downloads one file to disk, in a few megabytes of memory for a file of any size, and prints its progress: a line that grows by
# each tenth, readable on a terminal and in a log.
class Download
  OPEN_SECONDS = 10
  READ_SECONDS = 30

  # @param address [String] http or https; may contain a user name and a password
  # @param out [IO] where the progress is printed
  def initialize(address, out: $stderr)
    @uri = URI.parse(address)
    @out = out
    @tenths = 0
  end

  # @param path [String] file to write
  # @return [String] the path
  # @raise [ArgumentError] the address is neither http nor https
  # @raise [OpenURI::HTTPError, SystemCallError, SocketError, Timeout::Error, OpenSSL::SSL::SSLError] it can't be downloaded
  def to(path)
    raise ArgumentError, "#{@uri.scheme || "no"} address, not http or https" unless @uri.is_a?(URI::HTTP)

    open_remote { |remote| IO.copy_stream(remote, path) }
    path
  end

  # @return [String] the address without its password
  def to_s = bare.to_s

  private

  # open-uri keeps everything above 10 KB in a temporary file, follows redirects and uses the proxy of the environment.
  def open_remote(&)
    options = {open_timeout: OPEN_SECONDS, read_timeout: READ_SECONDS, content_length_proc: ->(size) { begin_of(size) },
               progress_proc: ->(done) { advance(done) }}
    options[:http_basic_authentication] = credentials if @uri.user
    options[:ssl_ca_cert] = Gem.configuration.ssl_ca_cert if Gem.configuration.ssl_ca_cert
    bare.open("rb", **options, &)
  ensure
    @out.puts if @size
  end

  def bare = @uri.dup.tap { |uri| uri.user = uri.password = nil }

  def credentials
    [@uri.user, @uri.password.to_s].map { |text| URI.decode_www_form_component(text) }
  end

  # Also called for each redirect, whose size is that of a small page.
  def begin_of(size)
    return if @size || size.to_i < 100_000

    @size = size
    @out.print format("%s: %.1f MB", self, size / 1e6)
  end

  def advance(done)
    return unless @size

    tenths = done * 10 / @size
    @out.print((@tenths + 1).upto(tenths).map { |tenth| " #{tenth * 10} %" }.join)
    @tenths = [@tenths, tenths].max
  end
end
