# frozen_string_literal: true

require_relative "lib/penstock/version"

# Read without a parser: Bundler loads this file before it has chosen which YAML is used.
pin = File.read(File.join(__dir__, "ext/penstock_kafka/librdkafka.yml"))
tarball = "ports/archives/librdkafka-#{pin[/^version: (\S+)/, 1]}.tar.gz"

# Only `gem build` loads this class; Bundler and Rake also read this file in trees where nothing was built yet.
if defined?(Gem::Commands::BuildCommand)
  require "digest"
  path = File.join(__dir__, tarball)
  found = Digest::SHA256.file(path).hexdigest if File.file?(path)
  unless found == pin[/^sha256: (\S+)/, 1]
    abort <<~TEXT
      penstock.gemspec: #{tarball} #{found ? "is not the file pinned in ext/penstock_kafka/librdkafka.yml: delete it" : "is missing"}.
      The source gem contains it, so that installing the gem needs nothing but a gem source. Fetch it with
        env -u PENSTOCK_PORTS bundle exec rake librdkafka:fetch
      and build the gem again.
    TEXT
  end
end

Gem::Specification.new do |spec|
  spec.name = "penstock"
  spec.version = Penstock::VERSION
  spec.summary = "Run Ruby code on Apache Kafka records: many threads, many processes, in order, nothing lost."
  spec.description = <<~TEXT
    Penstock is a framework for Apache Kafka with its own native driver over librdkafka. Partitions are drained
    independently of each other, jobs may run for hours without leaving their group, and offsets are kept in a ledger.
  TEXT
  spec.authors = ["The Penstock authors"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"
  spec.metadata = {"rubygems_mfa_required" => "true"}

  spec.files = Dir[
    "lib/**/*.rb", "lib/**/*.rb.txt", "exe/*", "examples/**/*", "docs/**/*.{md,svg,json}",
    "ext/**/*.{c,h,rb,patch,yml}", tarball,
    "README.md", "CHANGELOG.md", "LICENSE", "LICENSES-librdkafka.txt", "SECURITY.md", "VOCABULARY.md"
  ].select { |path| File.file?(path) }.grep_v(%r{\Aexamples/rails_shop/(?:log|storage|tmp)/})
  spec.bindir = "exe"
  spec.executables = Dir["exe/*"].map { |path| File.basename(path) }
  spec.require_paths = ["lib"]
  spec.extensions = ["ext/penstock_core/extconf.rb", "ext/penstock_kafka/extconf.rb"]

  # Why each of these is here: docs/dependencies.md.
  spec.add_dependency "json", ">= 2.10"
  spec.add_dependency "logger", ">= 1.4"
  spec.add_dependency "mini_portile2", "~> 2.8"
end
