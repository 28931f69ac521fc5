# frozen_string_literal: true

require_relative "group"

module Penstock
  module Routing
    # The DSL of `routes.draw`.
    module Dsl
      # The block of `routes.draw`. Topics outside of a consumer group belong to the application's group,
      # `config.group_id`.
      class Draw < Group
        # @param name [String, Symbol] the group's id on the cluster
        def consumer_group(name = nil, &block)
          name = name_of(name, "consumer_group")
          return unless name

          draft.groups << Draft::Group.new(name, location)
          Group.new(@session, draft.groups.last).fill(block)
          nil
        end

        # Options of topics that don't set them themselves.
        def defaults(&block)
          draft.defaults << Options.new(@session, "routes: defaults", location).fill(block).given
          nil
        end

        private

        def verbs
          [*STRUCTURE, *Macro.verbs]
        end
      end
    end
  end
end
