# frozen_string_literal: true

require "mkmf"
require "fileutils"
require_relative "../build_settings"
require_relative "recipe"

# Builds the driver on librdkafka. `--use-system-libraries` links the installed library instead of our pinned build. Every
# expected failure ends with a message that explains what to do.
module KafkaExtension
  # The sources of penstock_core that the driver needs on its own event thread.
  SHARED_CORE = %w[stats_trim.c].map { |name| "core/#{name}" }.freeze

  # header => [features missing without it, configure switch, Debian package, Alpine package]
  FEATURES = {
    "openssl/ssl.h" => ["TLS, SCRAM and OAuth", "ssl", "libssl-dev", "openssl-dev"],
    "zlib.h" => ["gzip compression", "zlib", "zlib1g-dev", "zlib-dev"],
    "zstd.h" => ["zstd compression", "zstd", "libzstd-dev", "zstd-dev"],
    "sasl/sasl.h" => ["Kerberos (GSSAPI)", "gssapi", "libsasl2-dev", "cyrus-sasl-dev"],
    "curl/curl.h" => ["OAuth by OIDC", "curl", "libcurl4-openssl-dev", "curl-dev"]
  }.freeze

  module_function

  def run
    (with_system_library? ? use_system_library : use_vendored_library)
    BuildSettings.apply_compiler_flags
    BuildSettings.apply_private_linking
    core = File.expand_path("../penstock_core", __dir__)
    shared = SHARED_CORE.select { |name| File.exist?(File.join(core, name)) }
    BuildSettings.apply_sources(__dir__, shared: shared, shared_folder: "../penstock_core")
    have_library("pthread")
    create_makefile("penstock/penstock_kafka")
    BuildSettings.append_shared_folder("../penstock_core")
    BuildSettings.append_header_dependencies(__dir__, core)
  end

  def with_system_library?
    enable_config("system-libraries", false) || arg_config("--use-system-libraries", false) ||
      BuildSettings.on?("USE_SYSTEM_LIBRARIES")
  end

  def use_vendored_library
    recipe = Recipe.new(cflags: BuildSettings.librdkafka_cflags, configure_options: configure_options)
    folder = recipe.library
    message "using librdkafka #{Recipe::PIN["version"]}, patched, in #{folder}\n"
    # -isystem: warnings in its headers are not ours.
    $INCFLAGS << " -isystem #{folder}/include -isystem #{folder}/include/librdkafka"
    $defs << "-DPENSTOCK_PATCHED"
    $LOCAL_LIBS << " #{folder}/lib/librdkafka.a"
    $libs = [$libs, recipe.libs].join(" ")
  end

  def configure_options
    missing = FEATURES.reject { |header, _| have_header(header) }
    refuse_without_tls(missing)
    missing.each_value do |lost, _, debian, alpine|
      message "WARNING: built without #{lost}; for it install #{debian} (Debian, Ubuntu) or #{alpine} (Alpine)\n"
    end
    options = missing.map { |_, (_, switch, *)| "--disable-#{switch}" }
    # The sanitizer sees threads that pthread_create starts, but not those of the C library's own thrd_create.
    options << "--disable-c11threads" if BuildSettings.on?("ASAN")
    options << (BuildSettings.on?("PEDANTIC") ? "--enable-devel" : "--disable-debug-symbols")
  end

  def refuse_without_tls(missing)
    return if !missing.key?("openssl/ssl.h") || BuildSettings.on?("WITHOUT_SSL")

    _, _, debian, alpine = FEATURES["openssl/ssl.h"]
    abort <<~TEXT
      OpenSSL's headers are missing, and without them the driver could not use TLS.
      Install #{debian} (Debian, Ubuntu), #{alpine} (Alpine), openssl-devel (Fedora) or openssl (Homebrew),
      or set PENSTOCK_WITHOUT_SSL=1 to build it without TLS.
    TEXT
  end

  def use_system_library
    version = pkg_config("rdkafka", "modversion")
    abort "--use-system-libraries: pkg-config doesn't find rdkafka. Install librdkafka-dev, or build without it." unless version

    refuse_version(version.strip)
    pkg_config("rdkafka")
    incdir = pkg_config("rdkafka", "variable=includedir")
    $INCFLAGS << " -I#{incdir.strip}/librdkafka" if incdir
    message "using the system's librdkafka #{version.strip}, without our patches\n"
  end

  def refuse_version(version)
    rules = Recipe::PIN["system"]
    reason = rules["refused"][version]
    reason ||= rules["minimum_reason"] if Gem::Version.new(version) < Gem::Version.new(rules["minimum"])
    return unless reason

    abort "The system's librdkafka is #{version}: #{reason}.\n" \
          "#{rules["minimum"]} or newer is needed; without --use-system-libraries Penstock builds its own."
  end
end

begin
  KafkaExtension.run
rescue Recipe::Error, Tarball::Error => error
  abort error.message
end
