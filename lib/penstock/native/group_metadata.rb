# frozen_string_literal: true

require_relative "../native"

module Penstock
  module Native
    # Identifies a member of a group, as its poll loop knew it ({Consumer#group_metadata}): a group's coordinator requires this
    # to accept offsets into a transaction, see ext/penstock_kafka/rb_group_metadata.c. An immutable value that is independent of
    # the consumer: any thread may use it, even when the consumer is closed. The coordinator refuses it once its generation has
    # ended.
    #
    # In C: `group_id`, `generation`, `member_id`, `instance_id`; and `GroupMetadata.for_group(name)`, which names no member,
    # so that the coordinator doesn't check for one.
    class GroupMetadata
      # @return [String]
      def inspect
        "#<#{self.class} #{group_id} generation=#{generation} member=#{member_id.inspect}>"
      end
    end
  end
end
