# frozen_string_literal: true

Rails.application.configure do
  config.action_controller.allow_forgery_protection = false
end
