# frozen_string_literal: true

require_relative "ruby_side"

module Bench
  # Installs the libraries we are compared with, and says which versions came.
  module Peers
    BUNDLES = {"karafka" => %w[karafka waterdrop karafka-rdkafka], "rdkafka" => %w[rdkafka]}.freeze

    module_function

    def install
      BUNDLES.each_key do |bundle|
        next if installed?(bundle)

        system(RubySide.peer(bundle).first, "bundle", "install", "--quiet", chdir: RubySide::PEERS, exception: true)
      end
    end

    def installed?(bundle)
      env, ruby = RubySide.peer(bundle)
      system(env, *ruby, "-e", "exit", out: File::NULL, err: File::NULL)
    end

    # @return [Hash<String, String>] name to version
    def versions
      BUNDLES.select { |bundle, _|
        installed?(bundle)
      }.reduce({}) { |all, (bundle, names)| all.merge(loaded(bundle).slice(*names)) }
    end

    def loaded(bundle)
      env, ruby = RubySide.peer(bundle)
      code = "Gem.loaded_specs.each_value { |spec| puts [spec.name, spec.version].join(' ') }"
      IO.popen([env, *ruby, "-e", code], &:read).lines.to_h(&:split)
    end
  end
end
