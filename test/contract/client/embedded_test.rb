# frozen_string_literal: true

require "test_helper"
require "penstock"
require "support/native_member"
require_relative "client_contract"

module Penstock
  class EmbeddedClientTest < TestCase
    include TestSupport::NativeCluster
    include TestSupport::ClientContract

    def client(topic)
      properties = TestSupport::NativeMember::PROPERTIES
        .merge("group.id" => "group-#{object_id}", "bootstrap.servers" => cluster.bootstrap_servers)
      Native::Consumer.new(properties).tap { |member| member.subscribe([topic]) }
    end
  end
end
