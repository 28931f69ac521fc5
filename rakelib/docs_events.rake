# frozen_string_literal: true

namespace :docs do
  desc "Write docs/events.md from the catalogue of events"
  task :events do
    require_relative "../lib/penstock/instrumentation/events_page"
    mkdir_p "docs", verbose: false
    File.write("docs/events.md", Penstock::Instrumentation::EventsPage.new.to_s)
  end
end
