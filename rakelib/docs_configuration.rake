# frozen_string_literal: true

namespace :docs do
  desc "Write docs/configuration.md from settings and options of topics"
  task :configuration do
    require_relative "../lib/penstock/routing/configuration_page"
    mkdir_p "docs", verbose: false
    File.write("docs/configuration.md", Penstock::Routing::ConfigurationPage.new.to_s)
  end
end
