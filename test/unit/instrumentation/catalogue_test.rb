# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/catalogue"
require "penstock/instrumentation/events_page"

class CatalogueTest < Penstock::TestCase
  Catalogue = Penstock::Instrumentation::Catalogue
  Keys = Penstock::Instrumentation::Events::Keys

  # Keys that users of Karafka find in these payloads.
  KNOWN = {
    "app.initialized" => %i[server_id],
    "app.running" => %i[server_id],
    "app.terminated" => %i[server_id],
    "client.reset" => %i[subscription_group],
    "consumer.consumed" => %i[time],
    "consumer.initialized" => %i[time],
    "consumer.revoked" => %i[time],
    "consumer.eofed" => %i[time],
    "consumer.shutdown" => %i[time],
    "consumer.consuming.pause" => %i[manual topic partition subscription_group offset timeout attempt],
    "consumer.consuming.retry" => %i[topic partition offset timeout attempt],
    "consumer.consuming.seek" => %i[topic partition message manual_seek reset_offset],
    "oauthbearer.token_refresh" => %i[bearer],
    "process.notice_signal" => %i[signal],
    "rebalance.partitions_assigned" => %i[subscription_group subscription_group_id consumer_group consumer_group_id group
      group_id client_id tpl],
    "statistics.emitted" => %i[statistics],
    "worker.processed" => %i[job jobs_queue time],
    "error.occurred" => %i[type error],
    "message.acknowledged" => %i[producer_id offset partition topic delivery_report label],
    "message.produced_async" => %i[producer_id message],
    "messages.produced_sync" => %i[producer_id messages],
    "buffer.flushed_sync" => %i[producer_id messages]
  }.freeze

  def setup
    @catalogue = Catalogue.standard
  end

  test "[event payloads] an event that Karafka has carries Karafka's keys" do
    KNOWN.each do |name, keys|
      entry = @catalogue.fetch(name)
      assert_empty keys - [*entry.keys, *(entry.timed ? [:time] : [])], name
    end
  end

  test "every payload key is explained, and no other key is" do
    used = @catalogue.entries.flat_map(&:allowed).uniq

    assert_equal Keys::DESCRIPTIONS.keys.sort, used.sort
  end

  test "every event describes when it happens" do
    assert_empty(@catalogue.entries.reject { |entry| entry.description.end_with?(".") }.map(&:name))
  end

  test "an unknown name raises with the nearest one" do
    error = assert_raises(Penstock::UnknownEventError) { @catalogue.fetch("consumer.consumd") }

    assert_equal 'there is no event "consumer.consumd". Did you mean consumer.consumed?', error.message
  end

  test "docs/events.md matches the catalogue" do
    page = File.expand_path("../../../docs/events.md", __dir__)

    assert_equal Penstock::Instrumentation::EventsPage.new.to_s, File.read(page, encoding: "UTF-8"),
      "run `rake docs:events`"
  end
end
