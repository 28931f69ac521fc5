# frozen_string_literal: true

require "digest"
require "fileutils"
require "open-uri"
require "rubygems/package"
require "shellwords"
require "tmpdir"
require "yaml"

# Finds librdkafka's source, proves that it is the pinned one, patches it and builds a static library, once a
# combination of source, patches and flags: the result is kept under ports/ and found again by the next build.
class Recipe
  PIN = YAML.safe_load_file(File.join(__dir__, "librdkafka.yml"))
  PATCHES = Dir[File.join(__dir__, "patches/*.patch")].sort
  ROOT = File.expand_path("../..", __dir__)
  # Not the working directory: builds in several folders share one library.
  PORTS = ENV.fetch("PENSTOCK_PORTS", File.join(ROOT, "ports"))

  class Error < StandardError; end

  def initialize(cflags:, configure_options: [])
    @cflags = cflags
    @configure_options = configure_options
  end

  # @return [String] the folder with include/ and lib/librdkafka.a
  def library
    FileUtils.mkdir_p(PORTS)
    File.open(File.join(PORTS, ".lock"), File::RDWR | File::CREAT) do |lock|
      lock.flock(File::LOCK_EX) # another build of ours may be making the very same library
      cook unless File.exist?(File.join(folder, "lib/librdkafka.a"))
    end
    folder
  end

  # What librdkafka's configure found: the libraries to link with, and the features that are in.
  def libs
    File.read(File.join(folder, "libs")).strip
  end

  private

  def folder
    @folder ||= File.join(PORTS, RbConfig::CONFIG["arch"], "librdkafka", "#{PIN["version"]}-#{key}")
  end

  def key
    patches = PATCHES.map { |path| File.binread(path) }
    Digest::SHA256.hexdigest([PIN["sha256"], *patches, *configure_arguments, compiler].join("\n"))[0, 12]
  end

  def compiler
    ENV.fetch("CC", RbConfig::CONFIG["CC"])
  end

  def configure_arguments
    ["--disable-lz4-ext", "--CFLAGS=#{@cflags.join(" ")}", *@configure_options]
  end

  def cook
    portile = load_portile
    portile.files = [{url: "file://#{tarball}", sha256: PIN["sha256"]}]
    portile.patch_files = PATCHES
    portile.configure_options = configure_arguments
    portile.cook
    keep(portile.source)
  end

  # Loaded only when something has to be built: a build that finds its library needs nothing but mkmf.
  def load_portile
    require "mini_portile2"
    require_relative "portile"
    Portile.new("librdkafka", PIN["version"], PORTS)
  rescue LoadError => error
    raise Error, "librdkafka has to be built for that, and the gem mini_portile2 isn't here: run bin/setup, " \
                 "or compile with `bundle exec` (#{error.message})"
  end

  # The folder appears whole or not at all.
  def keep(source)
    staging = "#{folder}.#{Process.pid}"
    FileUtils.mkdir_p([File.join(staging, "include/librdkafka"), File.join(staging, "lib")])
    FileUtils.cp(%w[rdkafka.h rdkafka_mock.h].map { |name| File.join(source, "src", name) },
      File.join(staging, "include/librdkafka"))
    FileUtils.cp(File.join(source, "src/librdkafka.a"), File.join(staging, "lib"))
    File.write(File.join(staging, "libs"), configured_libs(source))
    FileUtils.cp(File.join(source, "config.h"), staging)
    File.rename(staging, folder)
  end

  def configured_libs(source)
    File.readlines(File.join(source, "Makefile.config"), chomp: true).grep(/\ALIBS\+?=/)
      .map { |line| line.sub(/\ALIBS\+?=\s*/, "") }.join(" ")
  end

  # The ladder: the first source that yields the file wins, the hash decides whether it may be used.
  def tarball
    archives = File.join(PORTS, "archives")
    kept = File.join(archives, "librdkafka-#{PIN["version"]}.tar.gz")
    given = ENV.fetch("PENSTOCK_LIBRDKAFKA_TARBALL", "")
    return verified(File.expand_path(given), "PENSTOCK_LIBRDKAFKA_TARBALL") unless given.empty?
    return verified(kept, "the cached copy; delete it to fetch a new one") if File.exist?(kept)

    FileUtils.mkdir_p(archives)
    Dir.mktmpdir { |dir| FileUtils.mv(fetched(dir), kept) }
    kept
  end

  def fetched(dir)
    failures = []
    %i[upstream_release rubygem].each do |source|
      return verified(send(source, dir), source.to_s.tr("_", " "))
    rescue SystemCallError, IOError, OpenURI::HTTPError, SocketError, Net::OpenTimeout, Net::ReadTimeout,
      OpenSSL::SSL::SSLError, Gem::Exception => error
      failures << "  #{source.to_s.tr("_", " ")}: #{error.message}"
    end
    raise Error, <<~TEXT
      The source of librdkafka #{PIN["version"]} could not be fetched:
      #{failures.join("\n")}
      Fetch #{PIN["upstream"]} where the network allows it and
      set PENSTOCK_LIBRDKAFKA_TARBALL to the file.
    TEXT
  end

  def upstream_release(dir)
    path = File.join(dir, "upstream.tar.gz")
    URI.parse(PIN["upstream"]).open("rb", open_timeout: 10, read_timeout: 30) do |remote|
      IO.copy_stream(remote, path)
    end
    path
  end

  def rubygem(dir)
    gem = PIN["gem"]
    command = [Gem.ruby, "-S", "gem", "fetch", gem["name"], "-v", gem["version"], "--platform", "ruby"]
    output = Dir.chdir(dir) { IO.popen(command, err: %i[child out], &:read) }
    raise IOError, output.strip unless Process.last_status.success?

    Gem::Package.new(File.join(dir, "#{gem["name"]}-#{gem["version"]}.gem")).extract_files(dir, gem["file"])
    File.join(dir, gem["file"])
  end

  def verified(path, origin)
    raise Error, "librdkafka's tarball #{path} (#{origin}) does not exist." unless File.file?(path)

    actual = Digest::SHA256.file(path).hexdigest
    return path if actual == PIN["sha256"]

    raise Error, <<~TEXT
      #{path} (#{origin}) is not librdkafka #{PIN["version"]} as pinned in #{File.join(__dir__, "librdkafka.yml")}:
        expected SHA-256 #{PIN["sha256"]}
        found            #{actual}
      Nothing is built from it. A damaged or altered download is the usual cause.
    TEXT
  end
end
