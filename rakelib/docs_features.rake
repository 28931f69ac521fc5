# frozen_string_literal: true

namespace :docs do
  desc "Write docs/features.md from the rows of the tests and test/checks/features.yml"
  task :features do
    require_relative "../test/checks/features_page"
    mkdir_p "docs", verbose: false
    File.write("docs/features.md", Penstock::Checks::FeaturesPage.new.to_s)
  end
end
