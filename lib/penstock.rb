# frozen_string_literal: true

# `require "penstock"`: the framework and, where Rails is loaded, its Railtie. The command line loads only the framework, so that
# this file is loaded by the application's own `require` (or `Bundler.require`), when it has loaded Rails.
require_relative "penstock/framework"
require_relative "penstock/rails/railtie" if defined?(Rails::Railtie)
