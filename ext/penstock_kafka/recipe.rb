# frozen_string_literal: true

require "digest"
require "fileutils"
require "yaml"
require_relative "tarball"

# Patches librdkafka's source (see Tarball) and builds a static library, once per combination of source, patches and flags: the
# result is kept under ports/ and reused by the next build.
class Recipe
  PIN = YAML.safe_load_file(File.join(__dir__, "librdkafka.yml"))
  PATCHES = Dir[File.join(__dir__, "patches/*.patch")].sort
  ROOT = File.expand_path("../..", __dir__)
  # Independent of the working directory: builds in several folders share one library.
  PORTS = ENV.fetch("PENSTOCK_PORTS", File.join(ROOT, "ports"))

  class Error < StandardError; end

  # @return [String] the pinned source, fetched if it isn't here
  # @raise [Tarball::Error] it is nowhere
  def self.tarball
    Tarball.new(PIN, folder: File.join(PORTS, "archives")).path
  end

  def initialize(cflags:, configure_options: [])
    @cflags = cflags
    @configure_options = configure_options
  end

  # @return [String] the folder with include/ and lib/librdkafka.a
  def library
    FileUtils.mkdir_p(PORTS)
    File.open(File.join(PORTS, ".lock"), File::RDWR | File::CREAT) do |lock|
      lock.flock(File::LOCK_EX) # another build may be creating the same library
      cook unless File.exist?(File.join(folder, "lib/librdkafka.a"))
    end
    folder
  end

  # Results of librdkafka's configure: the libraries to link, and the enabled features.
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
    portile.files = [{url: "file://#{self.class.tarball}", sha256: PIN["sha256"]}]
    portile.patch_files = PATCHES
    portile.configure_options = configure_arguments
    portile.cook
    keep(portile.source)
    FileUtils.rm_rf(portile.source) # 40 MB that an installed gem would keep otherwise
  end

  # Loaded only if something has to be built: a build that finds its library needs nothing but mkmf.
  def load_portile
    require "mini_portile2"
    require_relative "portile"
    Portile.new("librdkafka", PIN["version"], PORTS)
  rescue LoadError => error
    raise Error, "building librdkafka needs the gem mini_portile2, which isn't installed: run bin/setup, " \
                 "or compile with `bundle exec` (#{error.message})"
  end

  # The folder appears complete or not at all.
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
end
