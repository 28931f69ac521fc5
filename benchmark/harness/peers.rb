# frozen_string_literal: true

require_relative "ruby_side"

module Bench
  # Installs the libraries that Penstock is compared with, and returns their versions.
  module Peers
    BUNDLES = {"karafka" => %w[karafka waterdrop karafka-rdkafka], "rdkafka" => %w[rdkafka]}.freeze

    module_function

    # Into one folder, but resolved separately: karafka-rdkafka and rdkafka contain files of the same names.
    def install
      BUNDLES.each_key do |bundle|
        env = RubySide::CLEAN.merge("BUNDLE_GEMFILE" => File.join(RubySide::PEERS, "#{bundle}.gemfile"),
          "BUNDLE_PATH" => RubySide::VENDOR)
        next if system(env, "bundle", "check", out: File::NULL, err: File::NULL)

        system(env, "bundle", "install", "--quiet", chdir: RubySide::PEERS, exception: true)
      end
    end

    # @return [Hash<String, String>] name to version of the libraries that the sides load
    def versions
      BUNDLES.reduce({}) { |all, (library, names)| all.merge(loaded(library).slice(*names)) }
    end

    def loaded(library)
      env, ruby = RubySide.peer
      code = "gem ARGV[0]; require ARGV[0]; Gem.loaded_specs.each_value { |spec| puts [spec.name, spec.version].join(' ') }"
      IO.popen([env, *ruby, "-e", code, library], err: File::NULL, &:read).lines.to_h(&:split)
    end
  end
end
