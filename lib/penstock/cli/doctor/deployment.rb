# frozen_string_literal: true

require_relative "deployment/grace"
require_relative "deployment/image"
require_relative "deployment/manifest"
require_relative "deployment/unit"
require_relative "step"

module Penstock
  module CLI
    module Doctor
      # Files that say how the application is run, looked at for what ends it too early: a unit of systemd, manifests of
      # Kubernetes, a Compose file, a Dockerfile, a Procfile. Nothing is asked but the files. Each kind is a class with
      # `steps`, told from the others by the file's name.
      class Deployment
        # What a Procfile can't say, whoever runs it decides.
        PROCFILE = "says no time to stop; who runs it does. foreman: `--timeout %<seconds>d`, for it kills after 5 s. Heroku " \
          "kills after 30 s, which can't be changed: there shutdown_timeout must be 15_000"

        # @param paths [Array<String>]
        # @param dir [String] the folder relative paths are counted from
        # @param shutdown_timeout_ms [Integer] of the application
        # @param health_host [String, nil] where the application's health page listens; nil where that isn't known
        def initialize(paths, dir:, shutdown_timeout_ms:, health_host: nil)
          @paths = paths
          @dir = dir
          @grace = Grace.new(shutdown_timeout_ms)
          @health_host = health_host
        end

        # @return [Array<Step>] at least one a file
        def steps = @paths.flat_map { |path| steps_of(path) }

        private

        def steps_of(path)
          text = File.read(File.expand_path(path, @dir), encoding: Encoding::UTF_8)
          kind = kind_of(File.basename(path)) or return [unknown(path)]
          kind.call(path, text)
        rescue SystemCallError => error
          [Step.failed(path, error.message.sub(/ @ .*/, ""), "name a file that is there")]
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
          Step.failed(path, "is of no kind that is known here",
            "units (.service, .conf), manifests and Compose files (.yml, .yaml), Dockerfile and Procfile are")
        end
      end
    end
  end
end
