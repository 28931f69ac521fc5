# frozen_string_literal: true

require_relative "../topics/command"

module Penstock
  module CLI
    module Commands
      # The part of `penstock topics apply` that changes properties of topics that exist.
      class TopicsAlign < Topics::Command
        command "topics align", "Sets properties of topics as they are declared"
        details "The part of `penstock topics apply` that changes properties of topics that exist."

        private

        def define(parser)
          super
          define_changing(parser)
        end

        def call(_words) = change_declared(:align)
      end
    end
  end
end
