# frozen_string_literal: true

require "etc"
require "fileutils"
require "tmpdir"
require_relative "wait"

module Penstock
  module TestSupport
    # A PostgreSQL cluster of its own, in a folder that is removed with it, reached through a socket there: it uses no
    # port. PostgreSQL refuses to run as root, so root starts it as another user.
    class PostgresServer
      SECONDS = 40
      # Its data needn't survive a power failure.
      OPTIONS = {
        "listen_addresses" => "", "fsync" => "off", "synchronous_commit" => "off", "full_page_writes" => "off",
        "shared_buffers" => "16MB", "dynamic_shared_memory_type" => "mmap", "max_connections" => "30"
      }.freeze
      USERS = %w[postgres nobody].freeze

      class << self
        # @return [String, nil] folder with initdb and postgres
        def binaries
          @binaries ||= [ENV["POSTGRES_BIN"], *Dir["/usr/lib/postgresql/*/bin"].sort.reverse, *Dir["/usr/local/{pgsql/,}bin"],
            *Dir["/usr/pgsql-*/bin"], "/usr/bin"].compact.find do |folder|
            %w[initdb postgres].all? { |name| File.executable?(File.join(folder, name)) }
          end
        end

        # @return [String, nil] why no PostgreSQL can be used here
        def obstacle
          return "no PostgreSQL server here: install postgresql (Debian), or set POSTGRES_BIN" unless binaries
          return unless ::Process.uid.zero?

          "PostgreSQL doesn't run as root, and there is neither of the users #{USERS.join(", ")}" unless user
        end

        def user
          USERS.lazy.filter_map { |name| Etc.getpwnam(name) rescue nil }.first # rubocop:disable Style/RescueModifier -- isn't there
        end
      end

      # @return [String] folder of its socket
      attr_reader :folder

      def start
        @folder = Dir.mktmpdir("pg")
        FileUtils.chown(self.class.user.uid, self.class.user.gid, @folder) if ::Process.uid.zero?
        initialize_cluster
        @pid = run("postgres", "-D", data, "-k", @folder, *OPTIONS.flat_map { |name, value| ["-c", "#{name}=#{value}"] })
        Wait.wait_until(SECONDS, "a PostgreSQL that answers", state: -> { log }, every: 0.02) { ready? }
        self
      end

      # Stops at once: nobody needs the data.
      def stop
        if @pid
          ::Process.kill(:QUIT, @pid)
          ::Process.wait(@pid)
        end
        FileUtils.remove_entry(@folder) if @folder
      end

      # For Active Record.
      def options
        {adapter: "postgresql", host: @folder, username: "penstock", database: "postgres"}
      end

      private

      def data = File.join(@folder, "data")

      def log = File.exist?(log_path) ? File.readlines(log_path).last(10) : []

      def log_path = File.join(@folder, "log")

      def initialize_cluster
        pid = run("initdb", "-D", data, "-U", "penstock", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        status = ::Process.wait2(pid).last
        raise "initdb failed: #{log.join}" unless status.success?
      end

      def run(name, *arguments)
        fork do
          if ::Process.uid.zero?
            ::Process::GID.change_privilege(self.class.user.gid)
            ::Process::UID.change_privilege(self.class.user.uid)
          end
          exec(File.join(self.class.binaries, name), *arguments, :chdir => @folder, :in => File::NULL,
            %i[out err] => [log_path, "a"])
        end
      end

      def ready?
        require "pg"
        PG.connect(host: @folder, user: "penstock", dbname: "postgres").close
        true
      rescue PG::Error
        false
      end
    end
  end
end
