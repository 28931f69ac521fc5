# frozen_string_literal: true

require "json"
require_relative "command_line"
require_relative "delivering"
require_relative "served"
require_relative "started"

module Penstock
  module TestSupport
    # A small Rails application in a folder of its own, with SQLite, the real Railtie and the gems of `gemfiles/`. Included into
    # test cases; `cluster` is an embedded broker of the class.
    #
    # The Rails version is that of PENSTOCK_RAILS, set by `bin/test rails`.
    module RailsApplication
      include CommandLine
      include Delivering
      include Started

      VERSION = ENV.fetch("PENSTOCK_RAILS", "7.2")
      GEMFILE = File.join(CommandLine::ROOT, "gemfiles/rails_#{VERSION}.gemfile")
      GEMS = {"BUNDLE_GEMFILE" => GEMFILE, "BUNDLE_PATH" => File.join(CommandLine::ROOT, "vendor/rails"),
              "BUNDLE_SILENCE_ROOT_WARNING" => "1"}.freeze

      APPLICATION = <<~RUBY
        require "logger"
        require "rails"
        require "active_record/railtie"
        require "active_job/railtie"
        require "action_controller/railtie"
        Bundler.require(*Rails.groups)
        module Shop
          class Application < Rails::Application
            config.load_defaults Rails::VERSION::STRING.to_f
            config.secret_key_base = "for tests"
            config.eager_load = Rails.env.production?
            config.enable_reloading = !Rails.env.production?
            config.active_record.maintain_test_schema = false
            config.active_job.queue_adapter = :inline
            config.log_level = :info
            CONFIGURATION
          end
        end
      RUBY
      FILES = {
        "config/environment.rb" => "require_relative \"application\"\nRails.application.initialize!\n",
        "config/routes.rb" => "Rails.application.routes.draw {}\n",
        "config/database.yml" => <<~YAML,
          default: &default
            adapter: sqlite3
            database: <%= ENV.fetch("DATABASE", "db.sqlite3") %>
            pool: <%= ENV.fetch("POOL", 12) %>
            timeout: 20000
          development: *default
          production: *default
          test: *default
        YAML
        "app/models/application_record.rb" => "class ApplicationRecord < ActiveRecord::Base\n  self.abstract_class = true\nend\n",
        "app/models/order.rb" => "class Order < ApplicationRecord\nend\n",
        "app/consumers/application_consumer.rb" => <<~'RUBY',
          class ApplicationConsumer < Penstock::BaseConsumer
            def note(text) = File.write(ENV.fetch("JOURNAL"), "#{text}\n", mode: "a")
          end
        RUBY
        "app/consumers/orders_consumer.rb" => <<~'RUBY'
          class OrdersConsumer < ApplicationConsumer
            def consume = messages.each { |message| note("consumed #{message.raw_payload}") }
          end
        RUBY
      }.freeze
      BOOT_FILE = <<~RUBY
        class PenstockApp < Penstock::App
          setup do |config|
            config.client_id = config.group_id = ENV.fetch("TOPIC", "shop")
            config.kafka = JSON.parse(ENV.fetch("KAFKA", '{"bootstrap.servers":"127.0.0.1:1"}'), symbolize_names: true)
            config.concurrency = Integer(ENV.fetch("CONCURRENCY", 5))
            config.shutdown_timeout = 20_000
            SETTINGS
          end
          routes.draw { ROUTES }
        end
      RUBY
      ROUTES = 'topic(ENV.fetch("TOPIC", "orders")) { consumer OrdersConsumer }'

      def setup
        super
        skip "the gems of Rails #{VERSION} are not installed: bin/test rails installs them" unless File.exist?("#{GEMFILE}.lock")
        @topic = "t#{rand(1 << 40)}"
        cluster&.create_topic(@topic, partitions: 4)
      end

      def cluster = self.class.cluster

      # Writes the application's files.
      # @param configuration [String] lines for config/application.rb
      # @param routes [String] code for `routes.draw`
      # @param settings [String] lines for `setup`
      # @param boot_file [String, nil] path of the boot file
      def application(configuration: "", routes: ROUTES, settings: "", boot_file: "config/penstock.rb")
        FILES.each { |path, text| write(path, text) }
        write("config/application.rb", APPLICATION.sub("CONFIGURATION") { configuration })
        write(boot_file, boot(routes: routes, settings: settings)) if boot_file
        FileUtils.mkdir_p(File.join(@dir, "log"))
      end

      def boot(routes: ROUTES, settings: "") = BOOT_FILE.sub("ROUTES") { routes }.sub("SETTINGS") { settings }

      # @return [Hash{String => String, nil}]
      def rails_environment(**more)
        kafka = cluster ? {"KAFKA" => JSON.generate(cluster.kafka)} : {}
        CLEAN.merge(GEMS, kafka, "PWD" => @dir, "TOPIC" => @topic, "JOURNAL" => File.join(@dir, "journal"),
          **more.transform_keys(&:to_s))
      end

      # Runs Ruby code in the application's bundle.
      # @return [Result]
      def ruby(code, **env)
        out, err, status = Open3.capture3(rails_environment(**env), RbConfig.ruby, "-rbundler/setup", "-e", code, chdir: @dir)
        Result.new(out, err, status.exitstatus || (128 + status.termsig))
      end

      # Runs Ruby code when the Rails application was loaded, as `rails runner` does.
      # @return [String] what it wrote to standard output
      def runner(code, **env)
        result = ruby("require \"./config/environment\"\n#{code}", **env)
        assert_equal 0, result.code, result.err + result.out
        result.out
      end

      # Runs a command of `penstock` until it ends.
      # @return [Result]
      def penstock_command(*argv, **env)
        out, err, status = Open3.capture3(rails_environment(**env), RbConfig.ruby, "-rbundler/setup", EXECUTABLE, *argv,
          chdir: @dir)
        Result.new(out, err, status.exitstatus || (128 + status.termsig))
      end

      # Starts a command of `penstock`.
      # @return [Served::Process]
      def penstock_process(*argv, **env)
        command = [RbConfig.ruby, "-rbundler/setup", EXECUTABLE, *argv]
        started(Served::Process.new(command, dir: @dir, env: rails_environment(**env)))
      end

      # Starts `penstock server` and waits until it consumes.
      def serve(**env)
        penstock_process("server", **env).tap { |server| server.await("partitions") { running?(server) } }
      end

      def running?(server)
        raise Minitest::Assertion, "the server has ended: #{server.tail}" if server.ended?
        log.match?(/running \(pid/)
      end

      # @return [String] the file that Rails writes
      def log = Dir[File.join(@dir, "log/*.log")].map { |path| File.read(path) }.join

      def journal = File.exist?(File.join(@dir, "journal")) ? File.readlines(File.join(@dir, "journal"), chomp: true) : []

      def await_journal(server, line, seconds = 60)
        server.await("#{line.inspect} in the journal", seconds) do
          raise Minitest::Assertion, "the server has ended: #{server.tail}" if server.ended?
          journal.any? { |each| line === each }
        end
      end

      def stop(server)
        server.signal(:TERM)
        assert_equal 0, server.code(60), server.tail
      end
    end
  end
end
