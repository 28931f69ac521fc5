# frozen_string_literal: true

require_relative "ruby_side"

module Bench
  # Installs the libraries we are compared with, and says which versions came.
  module Peers
    NAMES = %w[karafka waterdrop karafka-rdkafka rdkafka].freeze
    module_function

    def install
      env, ruby = RubySide.peer
      return if system(env, *ruby, "-e", "exit", out: File::NULL, err: File::NULL)

      system(env, "bundle", "install", "--quiet", chdir: RubySide::PEERS, exception: true)
    end

    def installed?
      env, ruby = RubySide.peer
      system(env, *ruby, "-e", "exit", out: File::NULL, err: File::NULL)
    end

    # @return [Hash<String, String>] name to version
    def versions
      return {} unless installed?

      env, ruby = RubySide.peer
      code = "Gem.loaded_specs.each_value { |spec| puts [spec.name, spec.version].join(' ') }"
      IO.popen([env, *ruby, "-e", code], &:read).lines.to_h(&:split).slice(*NAMES)
    end
  end
end
