# frozen_string_literal: true

# Runs the application with Karafka's public server entry, as `karafka server` does.
require_relative "application"

Karafka::Server.run
