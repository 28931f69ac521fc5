# frozen_string_literal: true

require "test_helper"
require "penstock/outbox"
require "penstock/outbox/headers"

class OutboxHeadersTest < Penstock::TestCase
  Headers = Penstock::Outbox::Headers

  test "dumped headers are loaded again: text, binary values, nil, several values of a name" do
    headers = {"a" => "ü", "b" => "\xFF\x00".b, "c" => nil, "d" => ["1", nil, "\xFE".b], "ü" => "x"}
    loaded = Headers.load(Headers.dump(headers))

    assert_equal headers.transform_values { |value| bytes(value) }, loaded.transform_values { |value| bytes(value) }
  end

  test "without headers the column stays empty" do
    assert_nil Headers.dump({})
    assert_nil Headers.dump(nil)
    assert_nil Headers.load(nil)
  end

  test "text values can be read in the database" do
    assert_equal '{"trace":"ü"}', Headers.dump({"trace" => "ü"})
  end

  test "names that aren't valid text are refused" do
    assert Headers.name?("ü")
    refute Headers.name?("\xFF")
    refute Headers.name?("\xFF".b)
  end

  private

  def bytes(value)
    value.is_a?(Array) ? value.map { |part| bytes(part) } : value&.b
  end
end
