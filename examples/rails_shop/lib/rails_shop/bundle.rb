# frozen_string_literal: true

module RailsShop
  # The gems of the shop: those with which the repository tests Penstock in Rails. Stateless.
  module Bundle
    ROOT = File.expand_path("../../../..", __dir__)
    RAILS = ENV.fetch("PENSTOCK_RAILS") { (RUBY_VERSION < "3.2") ? "7.2" : "8.1" }

    # @return [Hash{String => String}]
    def self.environment
      {"BUNDLE_GEMFILE" => File.join(ROOT, "gemfiles/rails_#{RAILS}.gemfile"), "BUNDLE_PATH" => File.join(ROOT, "vendor/rails"),
       "BUNDLE_SILENCE_ROOT_WARNING" => "1"}
    end
  end
end
