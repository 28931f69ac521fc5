# frozen_string_literal: true

# An application of your own has a Gemfile here. This one uses the repository's.
require_relative "../lib/rails_shop/bundle"

RailsShop::Bundle.environment.each { |name, value| ENV[name] ||= value }
require "bundler/setup"
