# frozen_string_literal: true

require "test_helper"
require "digest"
require "fileutils"
require "stringio"
require "tmpdir"
require "yaml"
require_relative "../../../ext/penstock_kafka/tarball"

# The ladder of places that librdkafka's source may come from, with a pin of our own and places that need no network.
class TarballTest < Penstock::TestCase
  RIGHT = "the pinned source"
  PIN = {"version" => "9.9.9", "sha256" => Digest::SHA256.hexdigest(RIGHT), "upstream" => "https://upstream.example/source"}.freeze

  # Places that hold a text, or an error.
  class Fetching < Tarball
    attr_reader :asked

    def initialize(places, **options)
      super(PIN, out: StringIO.new, **options)
      @places = places
      @asked = []
    end

    private

    def upstream_release(dir) = found(:upstream_release, dir)

    def rubygem(dir) = found(:rubygem, dir)

    def found(place, dir)
      @asked << place
      text = @places.fetch(place)
      raise text if text.is_a?(Exception)

      File.join(dir, "fetched").tap { |path| File.write(path, text) }
    end
  end

  def setup
    @dir = Dir.mktmpdir("tarball")
  end

  def teardown
    FileUtils.remove_entry(@dir)
  end

  test "a given file is used where it is, and no other place is asked" do
    given = write("given.tar.gz", RIGHT)
    ladder = ladder(env: {"PENSTOCK_LIBRDKAFKA_TARBALL" => given})

    assert_equal [given, []], [ladder.path, ladder.asked]
  end

  test "a given file with another SHA-256 stops the build: file, expected, found, way out" do
    given = write("given.tar.gz", "altered")
    said = refusal(ladder(env: {"PENSTOCK_LIBRDKAFKA_TARBALL" => given}))

    [given, PIN["sha256"], Digest::SHA256.hexdigest("altered"), "Set #{Tarball::VARIABLE} to another file", PIN["upstream"]]
      .each { |part| assert_includes said, part }
  end

  test "a given file that doesn't exist is named in the error, and no other one is used" do
    write("librdkafka-9.9.9.tar.gz", RIGHT)

    assert_match(/nowhere\.tar\.gz.*does not exist/, refusal(ladder(env: {"PENSTOCK_LIBRDKAFKA_TARBALL" => "nowhere.tar.gz"})))
  end

  test "the cached copy is used without a request; a damaged one stops the build, and the error names the file to delete" do
    cached = write("librdkafka-9.9.9.tar.gz", RIGHT)
    assert_equal cached, ladder.path

    File.write(cached, RIGHT.chop)
    said = refusal(ladder)
    assert_includes said, cached
    assert_includes said, "Delete it"
  end

  test "what is fetched is kept, and found again" do
    first = ladder(upstream_release: RIGHT)
    second = ladder

    assert_equal first.path, second.path
    assert_equal [[:upstream_release], []], [first.asked, second.asked]
  end

  test "a place that can't be reached is left for the next one" do
    ladder = ladder(upstream_release: SocketError.new("no such host"), rubygem: RIGHT)

    assert_equal RIGHT, File.read(ladder.path)
    assert_equal %i[upstream_release rubygem], ladder.asked
  end

  test "a wrong file from upstream stops the build: the next place isn't asked, and nothing is kept" do
    ladder = ladder(upstream_release: "altered", rubygem: RIGHT)

    assert_includes refusal(ladder), Digest::SHA256.hexdigest("altered")
    assert_equal [:upstream_release], ladder.asked
    assert_empty Dir.children(@dir)
  end

  test "without network and without a copy the message lists every place, its error and the way out" do
    said = refusal(ladder(upstream_release: SocketError.new("no such host"), rubygem: IOError.new("no gem source")))

    ["no such host", "no gem source", @dir, PIN["upstream"], Tarball::VARIABLE].each { |part| assert_includes said, part }
  end

  test "the pin names the version everywhere it stands" do
    pin = YAML.safe_load_file(File.expand_path("../../../ext/penstock_kafka/librdkafka.yml", __dir__))

    assert_match(/\A\h{64}\z/, pin["sha256"])
    assert_includes pin["upstream"], pin["version"]
    assert_includes pin["gem"]["file"], pin["version"]
  end

  private

  def ladder(env: {}, **places)
    Fetching.new(places, folder: @dir, env: env)
  end

  def refusal(ladder)
    assert_raises(Tarball::Error) { ladder.path }.message
  end

  def write(name, text)
    File.join(@dir, name).tap { |path| File.write(path, text) }
  end
end
