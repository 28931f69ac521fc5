# frozen_string_literal: true

require "test_helper"
require "penstock/compat/karafka/events"
require "penstock/instrumentation/catalogue"

# Events to which listeners for Karafka subscribe.
class CompatKarafkaEventsTest < Penstock::TestCase
  HINTS = Penstock::Compat::Karafka::Events::HINTS

  def setup
    super
    @catalogue = Penstock::Instrumentation::Catalogue.standard
  end

  test "an event of Karafka that doesn't exist here is reported with what to listen to" do
    HINTS.each do |name, hint|
      refute_includes @catalogue.names, name
      error = assert_raises(Penstock::UnknownEventError) { @catalogue.fetch(name) }

      assert_equal "there is no event #{name.inspect}. #{hint}", error.message
    end
  end

  test "the hints name events that exist" do
    named = HINTS.values.flat_map { |hint| hint.scan(/\b[a-z_]+(?:\.[a-z_]+)+\b/) }

    assert_empty named - @catalogue.names
  end
end
