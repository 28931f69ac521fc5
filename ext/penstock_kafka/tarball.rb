# frozen_string_literal: true

require "digest"
require "fileutils"
require "open-uri"
require "rubygems/package"
require "tmpdir"

# Finds librdkafka's source: tries several places in order and takes the first one that has the file. The pinned SHA-256
# decides whether the file may be used; a wrong checksum stops the build without trying the next place.
class Tarball
  VARIABLE = "PENSTOCK_LIBRDKAFKA_TARBALL"
  PLACES = {upstream_release: "upstream release", rubygem: "gem"}.freeze

  class Error < StandardError; end

  # @param pin [Hash] librdkafka.yml
  # @param folder [String] where a downloaded file is kept
  def initialize(pin, folder:, env: ENV)
    @pin = pin
    @folder = folder
    @given = env.fetch(VARIABLE, "")
  end

  # @return [String] a file that is the pinned one
  # @raise [Error] there is none; the message explains what to do
  def path
    return verified(File.expand_path(@given), "given by #{VARIABLE}", "Set #{VARIABLE} to another file") unless @given.empty?

    kept = File.join(@folder, "librdkafka-#{@pin["version"]}.tar.gz")
    return verified(kept, "the cached copy", "Delete it, and the next build fetches a new one") if File.exist?(kept)

    FileUtils.mkdir_p(@folder)
    Dir.mktmpdir { |dir| FileUtils.mv(fetched(dir), kept) }
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
    end
    raise Error, nowhere(failures)
  end

  def upstream_release(dir)
    path = File.join(dir, "upstream.tar.gz")
    URI.parse(@pin["upstream"]).open("rb", open_timeout: 10, read_timeout: 30) do |remote|
      IO.copy_stream(remote, path)
    end
    path
  end

  def rubygem(dir)
    gem = @pin["gem"]
    command = [Gem.ruby, "-S", "gem", "fetch", gem["name"], "-v", gem["version"], "--platform", "ruby"]
    output = Dir.chdir(dir) { IO.popen(command, err: %i[child out], &:read) }
    package = File.join(dir, "#{gem["name"]}-#{gem["version"]}.gem")
    raise IOError, output.strip unless File.exist?(package) # its exit code is also 0 if nothing was downloaded

    Gem::Package.new(package).extract_files(dir, gem["file"])
    File.join(dir, gem["file"])
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
