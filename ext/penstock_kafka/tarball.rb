# frozen_string_literal: true

require "digest"
require "fileutils"
require "tmpdir"
require_relative "download"
require_relative "packed_file"

# Finds librdkafka's source: tries several places in order and takes the first one that has the file. The pinned SHA-256
# decides whether the file may be used; a wrong checksum stops the build without trying the next place.
class Tarball
  VARIABLE = "PENSTOCK_LIBRDKAFKA_TARBALL"
  PLACES = {upstream_release: "upstream release", rubygem: "gem"}.freeze

  class Error < StandardError; end

  # @param pin [Hash] librdkafka.yml
  # @param folder [String] where a downloaded file is kept
  # @param out [IO] where the progress of a download is printed
  # @param gem_sources [Array<String>] addresses of the gem sources, in the order in which they are tried
  def initialize(pin, folder:, env: ENV, out: $stderr, gem_sources: Gem.sources.map(&:to_s))
    @pin = pin
    @folder = folder
    @given = env.fetch(VARIABLE, "")
    @out = out
    @gem_sources = gem_sources
  end

  # @return [String] a file that is the pinned one
  # @raise [Error] there is none; the message explains what to do
  def path
    return verified(File.expand_path(@given), "given by #{VARIABLE}", "Set #{VARIABLE} to another file") unless @given.empty?

    kept = File.join(@folder, "librdkafka-#{@pin["version"]}.tar.gz")
    return verified(kept, "the cached copy", "Delete it, and the next build fetches a new one") if File.exist?(kept)

    FileUtils.mkdir_p(@folder)
    # In the same file system: the file appears complete or not at all.
    Dir.mktmpdir("fetching", @folder) { |dir| File.rename(fetched(dir), kept) }
    kept
  end

  private

  def fetched(dir)
    failures = []
    PLACES.each do |place, name|
      return verified(send(place, dir), "from the #{name}", "Build again")
    rescue Error
      raise # it was downloaded, but its checksum is wrong
    rescue => error
      failures << "  #{name}: #{error.message.strip.gsub("\n", "\n    ")}"
      @out.puts "librdkafka could not be fetched from the #{failures.last.strip}"
    end
    raise Error, nowhere(failures)
  end

  def upstream_release(dir)
    download(@pin["upstream"], dir)
  end

  # By its address, not with `gem fetch`: that loads the index of all gems first, which takes minutes and more than 1 GB.
  def rubygem(dir)
    gem = @pin["gem"]
    raise IOError, "no gem source is configured" if @gem_sources.empty?

    failures = @gem_sources.map do |source|
      package = download("#{source.chomp("/")}/gems/#{gem["name"]}-#{gem["version"]}.gem", dir)
      return PackedFile.new(package, gem["file"]).extract_to(File.join(dir, "librdkafka.tar.gz"))
    rescue => error
      error.message.strip
    end
    raise IOError, failures.join("\n")
  end

  def download(address, dir)
    download = Download.new(address, out: @out)
    download.to(File.join(dir, "downloaded"))
  rescue => error
    raise IOError, "#{download}: #{error.message}"
  end

  def verified(path, origin, way_out)
    raise Error, "librdkafka's tarball #{path}, #{origin}, does not exist. #{way_out} or leave it unset." unless File.file?(path)

    found = Digest::SHA256.file(path).hexdigest
    return path if found == @pin["sha256"]

    raise Error, <<~TEXT
      #{path}, #{origin}, is not librdkafka #{@pin["version"]} as pinned in ext/penstock_kafka/librdkafka.yml:
        expected SHA-256 #{@pin["sha256"]}
        found            #{found}
      Nothing is built from it. A download that broke off or was altered is the usual cause.
      #{way_out}, or fetch #{@pin["upstream"]}
      yourself and set #{VARIABLE} to the file.
    TEXT
  end

  def nowhere(failures)
    <<~TEXT
      librdkafka #{@pin["version"]} has to be built, and its source is neither here nor could it be fetched:
      #{failures.join("\n")}
      Not here: #{@folder} has no librdkafka-#{@pin["version"]}.tar.gz, and #{VARIABLE} is not set.
      Fetch #{@pin["upstream"]} where the network allows it and
      set #{VARIABLE} to the file.
    TEXT
  end
end
