# frozen_string_literal: true

require "test_helper"
require "json"
require "yaml"
require_relative "../support/command_line"

# The two gems that users install, each in a gem folder without anything else, and run from there.
class GemsTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  PORTS = ENV.fetch("PENSTOCK_PORTS", File.join(ROOT, "ports"))
  # Packages that `gem install` must find on the machine itself.
  GEMS = %w[json logger mini_portile2].freeze
  BUNDLE = ENV.keys.grep(/\A(BUNDLE|RUBYOPT|GEM_)/).to_h { |name| [name, ENV[name]] }.freeze
  MUST = %w[ssl sasl_scram sasl_plain sasl_oauthbearer gzip snappy lz4].freeze

  # Ruby's own version may be older than the gem requires; the newer one must be loaded.
  JSON_VERSION = 'require "json"; gem "penstock"; require "penstock"; print JSON::VERSION'

  PRODUCE = <<~RUBY
    require "penstock"
    require "penstock/testing/cluster"
    Penstock::Testing::Cluster.start(topics: {"t" => 1}) do |cluster|
      producer = Penstock::Producer.new { |config| config.kafka = cluster.kafka }
      puts producer.produce_sync(topic: "t", payload: "x").offset
      producer.close
    end
  RUBY

  test "[Precompiled gems] the platform gem contains the driver: installed without a compiler, it has TLS and SASL" do
    packed = platform_gem
    install(packed)

    assert_empty gem_files("ext/**/*.{c,h,so}") + gem_files("ports/**/*"), "what only building needs"
    assert_equal %w[json logger], installed_dependencies
    assert_operator Gem::Version.new(run!(home, RbConfig.ruby, "-e", JSON_VERSION)), :>=, Gem::Version.new("2.10")
    assert_runs(/librdkafka \S+, built in/)
  end

  test "[Source fallback] the source gem compiles where it is installed, from the machine's own packages" do
    install(source_gem, env: {"PENSTOCK_PORTS" => PORTS})

    assert_runs(/librdkafka \S+, built in/)
  end

  test "[Source fallback] without the pinned tarball no source gem is built, and the message names the command that fetches it" do
    copy = File.join(@dir, "tree")
    %w[penstock.gemspec lib/penstock/version.rb ext/penstock_kafka/librdkafka.yml].each do |path|
      FileUtils.mkdir_p(File.dirname(File.join(copy, path)))
      FileUtils.cp(File.join(ROOT, path), File.join(copy, path))
    end
    tarball = "ports/archives/librdkafka-#{pinned_version}.tar.gz"

    assert_match(/#{tarball} is missing.*rake librdkafka:fetch/m, refused_build(copy))
    FileUtils.mkdir_p(File.join(copy, "ports/archives"))
    File.write(File.join(copy, tarball), "another file")
    assert_match(/#{tarball} is not the file pinned.*delete it/m, refused_build(copy))
    assert_empty Dir[File.join(copy, "*.gem")]
  end

  # Replaces a system's own library: the one that we built, where pkg-config finds it. No other source could provide a
  # driver, because PENSTOCK_PORTS is empty and no step of the ladder applies.
  test "[Source fallback] --use-system-libraries links the librdkafka that pkg-config names, and prints that while building" do
    install(source_gem, "--use-system-libraries",
      env: {"PKG_CONFIG_PATH" => package_config(pinned_version), "PENSTOCK_PORTS" => File.join(@dir, "ports")})

    said = File.read(Dir[File.join(@dir, "gems/extensions/**/penstock-*/gem_make.out")].fetch(0))
    assert_includes said, "using the system's librdkafka #{pinned_version}, without our patches"
    refute_path_exists File.join(@dir, "ports")
    assert_runs(/librdkafka #{Regexp.escape(pinned_version)}/)
  end

  test "[Source fallback] a system's librdkafka that is too old, or ill-advised, or missing, is refused with a message" do
    {"2.0.2" => /is 2\.0\.2: .*\n.*2\.13\.2 or newer is needed/, "2.10.0" => /upstream itself advises against it/,
     nil => /pkg-config doesn't find rdkafka. Install librdkafka-dev/}.each do |version, words|
      said, ended = configure("PKG_CONFIG_LIBDIR" => version ? package_config(version) : @dir)

      refute ended.success?
      assert_match words, said
    end
  end

  private

  def pinned_version
    YAML.safe_load_file(File.join(ROOT, "ext/penstock_kafka/librdkafka.yml")).fetch("version")
  end

  def source_gem
    path = File.join(@dir, "source.gem")
    run!({}, RbConfig.ruby, "-S", "gem", "build", "penstock.gemspec", "-o", path, chdir: ROOT)
    path
  end

  def refused_build(folder)
    output, status = Open3.capture2e(CLEAN, RbConfig.ruby, "-S", "gem", "build", "penstock.gemspec", chdir: folder)
    refute_predicate status, :success?, output
    output
  end

  # In a copy, because packing writes into the tree. The objects are copied too: nothing is compiled twice.
  def platform_gem
    copy = File.join(@dir, "copy")
    FileUtils.mkdir_p(File.join(copy, "tmp"))
    sources = Dir.chdir(ROOT) { Dir["{Gemfile*,Rakefile,rakelib,*.md,LICENSE*,penstock.gemspec,lib,exe,ext,examples,docs}"] }
    run!({}, "cp", "-a", *sources, copy, chdir: ROOT)
    objects = Dir[File.join(ROOT, "tmp/{*.sources,#{RUBY_PLATFORM}}")]
    run!({}, "cp", "-a", *objects, File.join(copy, "tmp")) if objects.any?
    run!({**BUNDLE, "BUNDLE_GEMFILE" => File.join(ROOT, "Gemfile"), "PENSTOCK_PORTS" => PORTS}, "bundle", "exec", "rake",
      "native", "gem", chdir: copy)
    Dir[File.join(copy, "pkg/*.gem")].fetch(0)
  end

  # Nothing but these files: --local asks no gem source.
  def install(path, *switches, env: {})
    dependencies = GEMS.filter_map { |name| Gem.loaded_specs[name]&.cache_file }.select { |file| File.exist?(file) }
    command = [RbConfig.ruby, "-S", "gem", "install", "--local", "--no-document"]
    run!(home, *command, *dependencies) if dependencies.any?
    # Without optimisation it is compiled in half the time.
    run!(home.merge(env), *command, path, "--", "--with-cflags=-O0", *switches)
  end

  def home
    folder = File.join(@dir, "gems")
    {"GEM_HOME" => folder, "GEM_PATH" => folder}
  end

  def run!(env, *command, chdir: @dir)
    output, status = Open3.capture2e(CLEAN.merge(env), *command, chdir: chdir)
    assert_predicate status, :success?, "#{command.join(" ")}: #{output.lines.last(40).join}"
    output
  end

  # The embedded broker needs the driver, and the complete folder of the gem.
  def assert_runs(driver)
    doctor, = Open3.capture2(CLEAN.merge(home), File.join(@dir, "gems/bin/penstock"), "doctor", "--json", chdir: @dir)
    steps = JSON.parse(doctor).to_h { |step| [step["name"], step["detail"]] }
    assert_match driver, steps.fetch("driver")
    assert_empty MUST - steps.fetch("features").split(", ")
    assert_equal "0\n", run!(home, RbConfig.ruby, "-e", PRODUCE)
  end

  def gem_files(pattern)
    Dir[File.join(@dir, "gems/gems/penstock-*", pattern)]
  end

  def installed_dependencies
    path = Dir[File.join(@dir, "gems/specifications/penstock-*.gemspec")].fetch(0)
    Gem::Specification.load(path).runtime_dependencies.map(&:name)
  end

  # Like a system package: a file with the version and the link flags. The library is the one that we built.
  def package_config(version)
    File.dirname(write("pkgconfig/rdkafka.pc", <<~TEXT))
      includedir=#{built}/include
      Name: librdkafka
      Description: The Apache Kafka C/C++ library
      Version: #{version}
      Cflags: -I${includedir}
      Libs: #{built}/lib/librdkafka.a #{File.read(File.join(built, "libs")).strip}
    TEXT
  end

  # Builds with other flags are in the same folder; those of the sanitizers need their run time.
  def built
    folders = Dir[File.join(PORTS, RbConfig::CONFIG["arch"], "librdkafka", "#{pinned_version}-*")]
    folders.find { |path| plain?(File.join(path, "lib/librdkafka.a")) } or skip "librdkafka's build isn't in #{PORTS}"
  end

  def plain?(library)
    File.exist?(library) && !File.binread(library).include?("__asan_init")
  end

  def configure(env)
    folder = File.join(@dir, "configured")
    FileUtils.mkdir_p(folder)
    Open3.capture2e(CLEAN.merge(env), RbConfig.ruby, File.join(ROOT, "ext/penstock_kafka/extconf.rb"), "--use-system-libraries",
      chdir: folder)
  end
end
