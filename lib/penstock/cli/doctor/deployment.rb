# frozen_string_literal: true

require_relative "deployment/grace"
require_relative "deployment/image"
require_relative "deployment/manifest"
require_relative "deployment/unit"
require_relative "step"

module Penstock
  module CLI
    module Doctor
      # Checks the files that define how the application is run for settings that end it too early: a systemd unit,
      # Kubernetes manifests, a Compose file, Kamal's deploy.yml, a Dockerfile, a Procfile. Reads nothing but the files. Each
      # kind of file is a class with `steps`; the file's name decides which class is used.
      class Deployment
        # A Procfile has no stop timeout; the program that runs it decides.
        PROCFILE = "has no stop timeout; the runner has one. foreman: `--timeout %<seconds>d`, it kills after 5 s. Heroku " \
          "kills after 30 s, which can't be changed: there shutdown_timeout must be 15_000"

        # @param paths [Array<String>]
        # @param dir [String] folder that relative paths start from
        # @param shutdown_timeout_ms [Integer] of the application
        # @param health_host [String, nil] where the application's health page listens; nil if unknown
        def initialize(paths, dir:, shutdown_timeout_ms:, health_host: nil)
          @paths = paths
          @dir = dir
          @grace = Grace.new(shutdown_timeout_ms)
          @health_host = health_host
        end

        # @return [Array<Step>] at least one per file
        def steps = @paths.flat_map { |path| steps_of(path) }

        private

        def steps_of(path)
          text = File.read(File.expand_path(path, @dir), encoding: Encoding::UTF_8)
          kind = kind_of(File.basename(path)) or return [unknown(path)]
          kind.call(path, text)
        rescue SystemCallError => error
          [Step.failed(path, error.message.sub(/ @ .*/, ""), "name a file that exists")]
        end

        def kind_of(name)
          case name
          when /\.(?:service|conf)\z/ then ->(path, text) { Unit.new(path, text, @grace).steps }
          when /\.ya?ml\z/ then ->(path, text) { Manifest.new(path, text, @grace, @health_host).steps }
          when /Dockerfile|Containerfile/ then ->(path, text) { Image.new(path, text).steps }
          when /\AProcfile/ then ->(path, _text) { [Step.skipped(path, format(PROCFILE, seconds: @grace.seconds))] }
          end
        end

        def unknown(path)
          Step.failed(path, "is of an unknown kind",
            "units (.service, .conf), manifests, Compose files and Kamal's deploy.yml (.yml, .yaml), Dockerfile and Procfile " \
            "are known")
        end
      end
    end
  end
end
