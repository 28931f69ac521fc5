# frozen_string_literal: true

require "puma/plugin"
require "penstock/testing/development_server"

# In config/puma.rb: `plugin :penstock`. In development, Puma then also runs the application's consumers: `penstock
# development` as a child, with an embedded broker unless one listens already. In other environments it does nothing.
Puma::Plugin.create do
  def start(launcher)
    environment = ENV["RAILS_ENV"] || launcher.options[:environment]
    return unless environment.to_s == "development"

    server = Penstock::Testing::DevelopmentServer.new
    events = launcher.events
    # Puma 7 renamed its events.
    new_names = events.respond_to?(:after_booted)
    booted, stopped, restart = new_names ? %i[after_booted after_stopped before_restart] : %i[on_booted on_stopped on_restart]
    events.public_send(booted) { server.start }
    events.public_send(stopped) { server.stop }
    events.public_send(restart) { server.hand_over }
  end
end
