# frozen_string_literal: true

require_relative "../child"

module Penstock
  module TestSupport
    module Runner
      # The bundles of `gemfiles/`, one per version of Rails, with which the tests of the kind `rails` run. They are installed
      # into vendor/rails when these tests run, so that bin/setup stays quick.
      class RailsBundles
        # Versions by the Ruby that they need.
        VERSIONS = ((RUBY_VERSION < "3.2") ? %w[7.1 7.2] : %w[8.0 8.1]).freeze
        FOLDER = "vendor/rails"
        INSTALL_SECONDS = 600
        # Variables of a newer Bundler, under which this process runs: with them another Bundler looks only for installed gems, or
        # loads parts of two versions. An older one sets fewer, and finds its own version by them.
        NEWER = %w[BUNDLER_SETUP BUNDLER_VERSION BUNDLE_BIN_PATH RUBYLIB].freeze
        CLEAN = ["RUBYOPT", *(NEWER if ENV.key?("BUNDLER_SETUP"))].to_h { |name| [name, nil] }.freeze
        private_constant :INSTALL_SECONDS, :NEWER, :CLEAN

        # @return [Array<String>] the versions that are to be tested
        attr_reader :versions

        # @param all [Boolean] all versions, instead of the newest
        def initialize(all:, out: $stdout)
          @versions = all ? VERSIONS : VERSIONS.last(1)
          @out = out
        end

        # Begins to install what is missing, on a thread of its own: it takes a minute of one core, and other tests need no
        # Rails.
        # @return [void]
        def start
          @installing ||= Thread.new { @versions.to_h { |version| [version, install(version)] } }
          @installing.report_on_exception = false
        end

        # Waits until it is installed.
        # @param version [String]
        # @return [String, nil] why its tests can't run
        def obstacle(version)
          start
          "the gems of Rails #{version} can't be installed" unless @installing.value.fetch(version)
        end

        private

        def install(version)
          env = {**CLEAN, "BUNDLE_GEMFILE" => File.expand_path("gemfiles/rails_#{version}.gemfile"),
                          "BUNDLE_PATH" => File.expand_path(FOLDER), "BUNDLE_SILENCE_ROOT_WARNING" => "1"}
          return true if bundle(env, "check", out: File::NULL, err: File::NULL)
          @out.puts("installing the gems of Rails #{version} into #{FOLDER} (usually a minute)")
          bundle(env, "install", "--quiet")
        end

        def bundle(env, *words, **options)
          Child.run([RbConfig.ruby, "-S", "bundle", *words], timeout: INSTALL_SECONDS, env: env, **options).success?
        end
      end
    end
  end
end
