# frozen_string_literal: true

require "test_helper"
require "support/routes"

class RoutingMacroTest < Penstock::TestCase
  include RoutesSupport

  C = RoutesSupport::Consumer

  test "[macros] any verb can be registered, and two of a name can't" do
    type = Penstock::Routing::Feature::Option.new(Penstock::Config::Types::Name.new, Penstock::Routing::Feature::REQUIRED)
    macro = Penstock::Routing::Macro.new(:audited_topic, options: {name: type}, positional: :name) do |level, block, name:|
      level.topic("audit.#{name}") { |route| route.fill(block).consumer(C) }
    end
    Penstock::Routing::Macro.register(macro)
    Penstock::Routing::Macro.register(macro)

    assert_equal 7, routes { audited_topic(:a) { max_messages 7 } }.find("audit.a").max_messages
    assert_match(/audited_topic is missing/, problems { audited_topic }.join)
    assert_raises(Penstock::ConfigurationError) { Penstock::Routing::Macro.register(Penstock::Routing::Macro.new(:audited_topic) {}) }
  ensure
    Penstock::Routing::Macro.unregister(:audited_topic)
  end
end
