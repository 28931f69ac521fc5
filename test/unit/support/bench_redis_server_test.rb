# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require_relative "../../../benchmark/harness/redis_server"

module Penstock
  # How bin/bench starts and ends Redis, with a program that takes its place.
  class BenchRedisServerTest < TestCase
    # Answers Redis' PING, and anything else with its pid and its folder.
    ANSWERS = <<~RUBY
      require "socket"
      option = ->(name) { ARGV[ARGV.index(name) + 1] }
      server = TCPServer.new(option.("--bind"), option.("--port"))
      loop do
        client = server.accept
        client.write((client.gets == "PING\\r\\n") ? "+PONG\\r\\n" : [Process.pid, option.("--dir")].join(" "))
        client.close
      end
    RUBY

    test "the server answers in the block, and is gone after it with its folder" do
      pid, folder = with_program(ANSWERS) { |program| Bench::RedisServer.open(program) { |url| ask(url) } }

      assert_raises(Errno::ESRCH) { ::Process.kill(0, pid.to_i) }
      assert_equal Bench::RubySide::TMP, File.dirname(folder)
      refute_path_exists folder
    end

    test "the server also ends when the block fails" do
      pid = nil
      with_program(ANSWERS) do |program|
        assert_raises(ArgumentError) do
          Bench::RedisServer.open(program) do |url|
            pid, _folder = ask(url)
            raise ArgumentError
          end
        end
      end

      assert_raises(Errno::ESRCH) { ::Process.kill(0, pid.to_i) }
    end

    test "a program that ends while starting is reported with its output" do
      error = assert_raises(RuntimeError) do
        with_program("abort 'no memory'") { |program| Bench::RedisServer.open(program) { flunk } }
      end

      assert_equal "Redis ended while starting:\nno memory\n", error.message
    end

    test "without a program the error names the package" do
      error = assert_raises(Bench::RedisServer::Missing) { Bench::RedisServer.open(nil) { flunk } }

      assert_match "Debian's package redis-server", error.message
    end

    private

    def with_program(code)
      Dir.mktmpdir do |folder|
        path = File.join(folder, "redis-server")
        File.write(path, "#!#{RbConfig.ruby} --disable-gems\n#{code}")
        File.chmod(0o755, path)
        yield path
      end
    end

    # @return [Array(String, String)] pid and folder of the server
    def ask(url)
      host, port = url.match(%r{\Aredis://(127\.0\.0\.1):(\d+)/0\z}).captures
      Socket.tcp(host, port.to_i) do |socket|
        socket.puts "WHO"
        socket.read.split
      end
    end
  end
end
