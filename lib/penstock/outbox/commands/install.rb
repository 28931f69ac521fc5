# frozen_string_literal: true

require_relative "../../cli/boot_file"
require_relative "../../cli/command"

module Penstock
  module OutboxCommands
    # Writes the migration that creates the table. Needs neither an application nor Active Record.
    class Install < CLI::Command
      command "outbox install", "Writes the migration that creates the outbox's table"
      details <<~TEXT
        Writes it into db/migrate, for the version of Active Record in Gemfile.lock. An existing migration of this name stays
        unchanged. Then run `rails db:migrate`, or the command that runs your migrations.
      TEXT

      FOLDER = "db/migrate"
      LOCKED = /\A {4}activerecord \((\d+\.\d+)/

      private

      def define(parser)
        parser.value(:table, "--table NAME", "name of the table (penstock_outbox), the same as in the setting `table`")
        parser.value(:path, "--path FOLDER", "folder of the migrations (#{FOLDER})")
      end

      def call(_words)
        require "fileutils"
        require_relative "../migration"

        table = options.fetch(:table, "penstock_outbox")
        fail_usage "--table #{table}: use letters, digits and underscores" unless table.match?(/\A[a-z_]\w*(?:\.[a-z_]\w*)?\z/i)
        write(File.expand_path(options.fetch(:path, FOLDER), root), table)
      end

      def write(folder, table)
        name = Outbox::Migration.file_name(table)
        existing = Dir[File.join(folder, "*_#{name}")].first
        return say("  exists, unchanged: #{shown(existing)}") if existing

        path = File.join(folder, "#{Time.now.utc.strftime("%Y%m%d%H%M%S")}_#{name}")
        FileUtils.mkdir_p(folder)
        File.write(path, Outbox::Migration.source(table: table, version: version))
        say "  created: #{shown(path)}"
      end

      def root = @root ||= CLI::BootFile.new(env: context.env, dir: context.dir).root

      def shown(path) = path.delete_prefix("#{root}/")

      def version
        lockfile = File.join(root, "Gemfile.lock")
        File.file?(lockfile) ? File.foreach(lockfile).filter_map { |line| line[LOCKED, 1] }.first : nil
      end
    end
  end
end
