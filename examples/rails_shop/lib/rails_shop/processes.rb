# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"
require "socket"
require_relative "bundle"

module RailsShop
  # The shop, or its check, can't continue. The message has the reason.
  class Failed < StandardError
  end

  # The commands of a shop, and their environment: a folder, a port, and a broker.
  class Processes
    ROOT = File.expand_path("../..", __dir__)
    # Nothing of a bundle in which this process itself may run.
    CLEAN = %w[BUNDLE_GEMFILE BUNDLE_BIN_PATH BUNDLE_PATH BUNDLER_SETUP BUNDLER_VERSION RUBYLIB RUBYOPT PENSTOCK_BOOT_FILE
      PENSTOCK_ENV PENSTOCK_ROOT_DIR].to_h { |name| [name, nil] }.freeze

    # @return [Integer] a port that nothing uses
    def self.free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

    # @param storage [String] folder of database and log
    # @param port [Integer] of the web server
    # @param kafka [String, nil] `bootstrap.servers`; nil: an address at which Puma's plugin starts an in-memory broker
    def initialize(storage:, port:, kafka: nil)
      @storage = storage
      @port = port
      @kafka = kafka || "127.0.0.1:#{self.class.free_port}"
    end

    # @return [String] `bootstrap.servers`
    attr_reader :kafka

    # @param properties [Hash] of librdkafka
    # @return [Hash{String => String, nil}]
    def environment(properties = {})
      own = {"RAILS_ENV" => "development", "PORT" => @port.to_s, "SHOP_STORAGE" => @storage,
             "KAFKA_BOOTSTRAP_SERVERS" => @kafka, "SHOP_KAFKA" => JSON.generate(properties)}
      {**CLEAN, **Bundle.environment, **own}
    end

    # @return [Array<String>] Puma, which starts consumers and broker: see config/puma.rb
    def web = [RbConfig.ruby, "bin/rails", "server", "--pid", File.join(@storage, "server.pid")]

    # @return [Array<String>] a further process that consumes
    def consumers = [RbConfig.ruby, "bin/penstock", "server"]

    # Creates the tables, empty.
    # @raise [Failed]
    def create_database
      FileUtils.mkdir_p(@storage)
      system(environment, RbConfig.ruby, "bin/rails", "db:schema:load", chdir: ROOT) or
        raise Failed, "the database can't be created; the reason is above"
    end
  end
end
