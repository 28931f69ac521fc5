# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/catalogue"

# Reads the sources: every published event must be in the catalogue, also where no test listens.
class PublishedTest < Penstock::TestCase
  FILES = Dir[File.expand_path("../../../lib/**/*.rb", __dir__)].to_h { |path| [path, File.read(path, encoding: "UTF-8")] }
  SOURCES = FILES.values
  # Files that only mention types.
  LISTS = %w[instrumentation/events/errors.rb instrumentation/error_line.rb].freeze

  test "every event that is published or looked up by name exists" do
    catalogue = Penstock::Instrumentation::Catalogue.standard
    found = names(/\b(?:instrument|publish|subscribed\?)\(\s*"([a-z_.]+)"/)

    assert_operator found.size, :>, 10
    assert_empty found - catalogue.names
  end

  test "every type of error that is published is listed" do
    types = Penstock::Instrumentation::Events::Errors::TYPES
    found = names(/\btype: "([a-z_]+(?:\.[a-z_]+)+)"/)

    assert_operator found.size, :>, 5
    assert_empty found - types.keys
  end

  test "every listed type of error is published: a listener doesn't wait for one in vain" do
    types = Penstock::Instrumentation::Events::Errors::TYPES.keys
    actions = %w[consume revoked eofed shutdown tick].map { |action| "consumer.#{action}.error" }
    commands = names(/\bcommand\("([a-z_]+)"\)/).map { |name| "transaction.#{name}" }
    published = FILES.reject { |path, _text| path.end_with?(*LISTS) }.values.join

    assert_operator commands.size, :>, 3
    assert_empty (types - actions - commands).reject { |type| published.include?("\"#{type}\"") }
  end

  private

  def names(expression)
    SOURCES.flat_map { |text| text.scan(expression).flatten }.uniq
  end
end
