# frozen_string_literal: true

require "rails/railtie"
require_relative "../config/boot_file"
require_relative "../exit_reports" # before the `at_exit` below
require_relative "../framework"
require_relative "settings"

module Penstock
  # The integration with Rails: loaded by `require "penstock"` where Rails is loaded.
  module OnRails
    # Makes an application run as a part of the Rails application: see docs/rails.md.
    class Railtie < ::Rails::Railtie
      config.penstock = Settings.new

      # Before the application's initializers, which may define the application themselves (PENSTOCK_BOOT_FILE=false).
      initializer "penstock.extension", after: :initialize_logger, before: :load_config_initializers do |app|
        require_relative "extension"
        extension = Extension.new(app, Railtie.boot_file)
        Application.extensions << extension
        at_exit { extension.close_producers }
      end

      # The adapter is there when Rails sets it, and jobs of an application that never uses it load nothing of it.
      initializer "penstock.active_job", before: "active_job.set_configs" do |app|
        ActiveSupport.on_load(:active_job) do
          Penstock.load_constant :ActiveJob
          # Also after the application has set them itself: only what is set here replaces that.
          given = app.config.penstock.given(:current_attributes, :current_attributes_for_karafka)
          given.each { |name, value| Penstock::ActiveJob.public_send(:"#{name}=", value) }
        end
      end

      # Consumers and models can be autoloaded from here on. The file isn't loaded again when code is reloaded.
      config.to_prepare { Railtie.load_boot_file }

      class << self
        # @return [String, nil] absolute path of the boot file, if it belongs to the Rails application: it is in the folder of
        #   `config/environment.rb`
        def boot_file
          path = Config::BootFile.new(env: {"PENSTOCK_ROOT_DIR" => ::Rails.root.to_s}.merge(named)).path
          path if path && Config::BootFile.environment_of(path) && !self_boot?
        rescue MissingBootFileError
          raise if named.any?
        end

        # Does nothing the second time.
        # @return [void]
        def load_boot_file
          return if @loaded
          @loaded = true
          boot_file&.then { |path| require File.realpath(path) }
        end

        private

        def named = ENV.to_h.slice(Config::BootFile::VARIABLE).reject { |_, value| value.empty? }
        def self_boot? = ENV[Config::BootFile::VARIABLE] == Config::BootFile::SELF_BOOT
      end
    end
  end
end
