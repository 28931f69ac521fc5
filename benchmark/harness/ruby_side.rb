# frozen_string_literal: true

require "json"
require "rbconfig"
require "fileutils"
require_relative "child"

module Bench
  # Starts Ruby programs of benchmark/sides in a fresh process: Penstock's own with the project's bundle, peers with a
  # bundle of their own in benchmark/peers, so nobody sees the other's gems.
  class RubySide
    ROOT = File.expand_path("../..", __dir__)
    SIDES = File.join(ROOT, "benchmark/sides")
    PEERS = File.join(ROOT, "benchmark/peers")
    LOGS = File.join(ROOT, "benchmark/tmp/logs")
    CLEAN = %w[RUBYOPT RUBYLIB BUNDLE_GEMFILE BUNDLE_PATH BUNDLE_BIN_PATH BUNDLER_VERSION
      BUNDLE_APP_CONFIG].to_h { |name|
      [name, nil]
    }.freeze

    # @param bundle [String] one of benchmark/peers/*.gemfile
    # @return [Array(Hash, Array<String>)] environment and the start of the command line for a peer
    def self.peer(bundle)
      gems = {"BUNDLE_GEMFILE" => File.join(PEERS, "#{bundle}.gemfile"), "BUNDLE_PATH" => File.join(PEERS, "vendor")}
      [CLEAN.merge(gems), [RbConfig.ruby, "-rbundler/setup"]]
    end

    def self.ours
      [CLEAN.merge("BUNDLE_GEMFILE" => File.join(ROOT, "Gemfile")),
        [RbConfig.ruby, "-rbundler/setup", "-I", File.join(ROOT, "lib")]]
    end

    # @param program [String] file below benchmark/sides, "karafka/consume.rb"
    # @param parameters [Hash] handed over as JSON in BENCH_PARAMETERS
    # @param arguments [Array<String>] instead of the program: another executable with its arguments
    # @return [Child]
    def self.spawn(program, parameters, arguments: nil, env: {})
      library = program.split("/").first
      base, ruby = %w[penstock ruby].include?(library) ? ours : peer(library)
      path = File.join(SIDES, program)
      command = [*ruby, *(arguments || [path])]
      Child.new(command, env: base.merge("BENCH_PARAMETERS" => JSON.generate(parameters), **env), chdir: ROOT,
        log: log_for(program))
    end

    def self.log_for(name)
      FileUtils.mkdir_p(LOGS)
      File.join(LOGS, "#{name.tr("/ ", "--")}.log")
    end

    # Runs one side to its end and gives what it reported.
    def self.run(program, parameters, within: 180)
      child = spawn(program, parameters)
      child.await("result", within: within)
    ensure
      child&.stop
    end
  end
end
