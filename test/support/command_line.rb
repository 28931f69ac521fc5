# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"
require_relative "checked_events"

module Penstock
  module TestSupport
    # Runs `penstock` as a user does: in a process and a folder of its own, without this process's bundle.
    module CommandLine
      ROOT = File.expand_path("../..", __dir__)
      EXECUTABLE = File.join(ROOT, "exe/penstock")
      # Gives a child the environment of a shell in which nothing was set up.
      CLEAN = ENV.keys.grep(/\A(BUNDLE|BUNDLER|RUBYOPT|RUBYLIB|GEM_|PENSTOCK_|KAFKA_|RACK_ENV|RAILS_ENV)/).to_h { |key|
        [key, nil]
      }.freeze

      Result = Struct.new(:out, :err, :code)

      def setup
        super
        @dir = File.realpath(Dir.mktmpdir("penstock-cli"))
      end

      def teardown
        FileUtils.remove_entry(@dir)
        super
      end

      # @param argv [Array<String>]
      # @param env [Hash{String => String}]
      # @param input [String] standard input
      # @return [Result]
      def penstock(*argv, env: {}, input: "")
        out, err, status = Open3.capture3(checked(env), RbConfig.ruby, EXECUTABLE, *argv, chdir: @dir, stdin_data: input)
        Result.new(out, err, status.exitstatus || (128 + status.termsig))
      end

      # @return [Hash{String => String, nil}] the clean environment, of a process whose events are checked
      def checked(env) = CLEAN.merge(CheckedEvents::ENVIRONMENT, env)

      def write(path, text)
        full = File.join(@dir, path)
        FileUtils.mkdir_p(File.dirname(full))
        File.write(full, text)
        full
      end
    end
  end
end
