# frozen_string_literal: true

require "json"
require "rbconfig"
require "fileutils"
require "tmpdir"
require_relative "child"

module Bench
  # Starts Ruby programs of benchmark/sides in a new process. None runs under Bundler, which would add 0.12 s to every
  # start: Penstock is found by its folder, peers as installed gems, in a gem folder that Penstock never sees.
  class RubySide
    ROOT = File.expand_path("../..", __dir__)
    SIDES = File.join(ROOT, "benchmark/sides")
    PEERS = File.join(ROOT, "benchmark/peers")
    VENDOR = File.join(PEERS, "vendor")
    TMP = File.join(ROOT, "benchmark/tmp")
    LOGS = File.join(TMP, "logs")
    BUNDLER = %w[
      RUBYOPT RUBYLIB BUNDLE_GEMFILE BUNDLE_PATH BUNDLE_BIN_PATH BUNDLER_SETUP BUNDLER_VERSION BUNDLE_APP_CONFIG
    ].freeze
    CLEAN = BUNDLER.to_h { |name| [name, nil] }.freeze

    # Ruby 3.1 reserves 256 MB by default.
    YJIT = %w[--yjit --yjit-exec-mem-size=64].freeze

    class << self
      # @return [Array<String>, nil] for Ruby itself, on every side
      attr_accessor :switches
    end

    # @return [Array(Hash, Array<String>)] environment and the start of the command line
    def self.peer
      gems = File.join(VENDOR, "ruby", RbConfig::CONFIG["ruby_version"])
      [CLEAN.merge("GEM_PATH" => gems), [RbConfig.ruby, *switches]]
    end

    def self.ours
      [CLEAN, [RbConfig.ruby, *switches, "-I", File.join(ROOT, "lib")]]
    end

    # @param program [String] file below benchmark/sides, "karafka/consume.rb"
    # @param parameters [Hash] passed as JSON in BENCH_PARAMETERS
    # @param arguments [Array<String>] instead of the program: another executable with its arguments
    # @param env [Hash{String=>String}] added to its environment
    # @param log [String] file for its output
    # @return [Child]
    def self.spawn(program, parameters, arguments: nil, env: {}, log: log_for(program))
      base, ruby = program.start_with?("penstock/", "ruby/") ? ours : peer
      env = {**base, "BENCH_PARAMETERS" => JSON.generate(parameters), **env}
      Child.new([*ruby, *(arguments || [File.join(SIDES, program)])], env: env, chdir: ROOT, log: log)
    end

    def self.log_for(name)
      FileUtils.mkdir_p(LOGS)
      File.join(LOGS, "#{name.tr("/ ", "--")}.log")
    end

    # @yieldparam folder [String] empty, deleted after the block; on the repository's file system, as the broker's log
    def self.in_folder(name, &block)
      FileUtils.mkdir_p(TMP)
      Dir.mktmpdir("#{name}-", TMP, &block)
    end

    # Runs one side to its end and returns what it reported.
    #
    # @param grace [Numeric] seconds for a program that ends its own processes on TERM
    def self.run(program, parameters, within: 180, grace: 0)
      child = spawn(program, parameters)
      child.await("result", within: within)
    ensure
      child&.stop(grace: grace)
    end
  end
end
