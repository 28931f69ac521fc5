# frozen_string_literal: true

require_relative "../native"

module Penstock
  module Native
    # Who a member of a group was when its poll loop was asked ({Consumer#group_metadata}): what a group's coordinator wants to
    # know before it takes offsets into a transaction, see ext/penstock_kafka/group_metadata.c. Immutable and a value of its
    # own: any thread may use it, also when the consumer is gone. The coordinator refuses it once its generation is over.
    #
    # In C: `group_id`, `generation`, `member_id`, `instance_id`; and `GroupMetadata.for_group(name)`, which is nobody's in
    # particular, so that nobody is refused.
    class GroupMetadata
      # @return [String]
      def inspect
        "#<#{self.class} #{group_id} generation=#{generation} member=#{member_id.inspect}>"
      end
    end
  end
end
