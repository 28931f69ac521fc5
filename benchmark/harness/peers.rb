# frozen_string_literal: true

require_relative "redis_server"
require_relative "ruby_side"

module Bench
  # Installs the libraries that Penstock is compared with and the server that one of them needs, and returns their versions.
  module Peers
    BUNDLES = {"karafka" => %w[karafka waterdrop karafka-rdkafka], "rdkafka" => %w[rdkafka],
               "sidekiq" => %w[sidekiq activejob], "solid_queue" => %w[solid_queue sqlite3]}.freeze

    module_function

    # Into one folder, but resolved separately: karafka-rdkafka and rdkafka contain files of the same names.
    def install
      BUNDLES.each_key do |bundle|
        env = RubySide::CLEAN.merge("BUNDLE_GEMFILE" => File.join(RubySide::PEERS, "#{bundle}.gemfile"),
          "BUNDLE_PATH" => RubySide::VENDOR)
        next if system(env, "bundle", "check", out: File::NULL, err: File::NULL)

        system(env, "bundle", "install", "--quiet", chdir: RubySide::PEERS, exception: true)
      end
      RedisServer.install or warn "bin/bench: #{RedisServer::MISSING}: sides of Sidekiq aren't measured"
    end

    # @return [Hash<String, String>] name to version of what the sides load and start
    def versions
      gems = BUNDLES.values.reduce({}) { |all, names| all.merge(activated(names)) }
      {**gems, "redis-server" => RedisServer.version}.compact
    end

    # In a process of its own: the gems of two bundles exclude each other.
    def activated(names)
      env, ruby = RubySide.peer
      code = "ARGV.each { |name| gem name; puts [name, Gem.loaded_specs[name].version].join(' ') }"
      IO.popen([env, *ruby, "-e", code, *names], err: File::NULL, &:read).lines.to_h(&:split)
    end
  end
end
