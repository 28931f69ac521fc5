# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/catalogue"

# Reads the sources: what is published somewhere must be in the catalogue, also where no test listens.
class PublishedTest < Penstock::TestCase
  SOURCES = Dir[File.expand_path("../../../lib/**/*.rb", __dir__)].map { |path| File.read(path, encoding: "UTF-8") }

  test "every event that is published or asked for by name exists" do
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

  private

  def names(expression)
    SOURCES.flat_map { |text| text.scan(expression).flatten }.uniq
  end
end
