# frozen_string_literal: true

require_relative "boot"
require "logger"
require "rails"
require "active_record/railtie"
require "active_job/railtie"
require "action_controller/railtie"
require "action_mailer/railtie"
require "rails/test_unit/railtie"
Bundler.require(*Rails.groups)
require_relative "../lib/rails_shop/mail_table"

module RailsShop
  class Application < Rails::Application
    config.load_defaults 7.1
    config.eager_load = Rails.env.production?
    config.enable_reloading = Rails.env.development?
    config.consider_all_requests_local = true
    config.secret_key_base = "an example has no secrets"

    # Database, log and mails of a run are in one folder.
    config.x.storage = ENV.fetch("SHOP_STORAGE") { root.join("storage").to_s }
    config.paths["log"] = File.join(config.x.storage, "#{Rails.env}.log")

    # Jobs are records in Kafka.
    config.active_job.queue_adapter = :penstock

    # Mails become rows of the table sent_mails, so that the page can show them.
    config.action_mailer.delivery_method = :table
    config.action_mailer.raise_delivery_errors = true
  end
end
