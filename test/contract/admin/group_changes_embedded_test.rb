# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "group_changes_contract"

module Penstock
  class GroupChangesOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include GroupChangesContract

    GroupChangesContract.add_to(self)

    test "a group can't be deleted there, and the error reports that" do
      error = assert_raises(KafkaError) { admin { |admin| admin.delete_consumer_group(group) } }

      assert_equal :unsupported_feature, error.code
    end
  end
end
