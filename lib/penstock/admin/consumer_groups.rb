# frozen_string_literal: true

module Penstock
  class Admin
    # The commands about consumer groups by the names that Karafka's module of this name has; they go to the application's
    # cluster. On an {Admin} they are those of {GroupCommands}.
    module ConsumerGroups
      class << self
        # See {Admin#seek_consumer_group}.
        # @return [void]
        def seek(group, topics) = Admin.seek_consumer_group(group, topics)

        # See {Admin#copy_consumer_group}.
        # @return [Boolean]
        def copy(from, to, topics = nil) = Admin.copy_consumer_group(from, to, topics)

        # See {Admin#rename_consumer_group}.
        # @return [Boolean]
        def rename(from, to, topics = nil, delete_previous: true)
          Admin.rename_consumer_group(from, to, topics, delete_previous: delete_previous)
        end

        # See {Admin#delete_consumer_group}.
        # @return [void]
        def delete(*groups) = Admin.delete_consumer_group(*groups)

        # See {Admin.trigger_rebalance}.
        # @return [void]
        def trigger_rebalance(group) = Admin.trigger_rebalance(group)

        # See {Admin.read_lags_with_offsets}.
        # @return [Hash{String=>Hash{String=>Hash{Integer=>Hash}}}]
        def read_lags_with_offsets(groups = {}, active_topics_only: true)
          Admin.read_lags_with_offsets(groups, active_topics_only: active_topics_only)
        end
      end
    end
  end
end
