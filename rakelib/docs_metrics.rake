# frozen_string_literal: true

namespace :docs do
  desc "Write the table of docs/monitoring.md from the catalogue of metrics"
  task :metrics do
    require_relative "../lib/penstock/instrumentation/metrics/table"
    page = "docs/monitoring.md"
    File.write(page, Penstock::Instrumentation::Metrics::Table.new.replace(File.read(page, encoding: "UTF-8")))
  end
end
