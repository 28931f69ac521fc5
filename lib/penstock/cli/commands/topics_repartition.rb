# frozen_string_literal: true

require_relative "../topics/command"

module Penstock
  module CLI
    module Commands
      # The part of `penstock topics apply` that changes partitions of topics that exist.
      class TopicsRepartition < Topics::Command
        command "topics repartition", "Adds partitions to topics as they are declared"
        details "The part of `penstock topics apply` that changes partitions of topics that exist."

        private

        def define(parser)
          super
          define_changing(parser)
        end

        def call(_words) = change_declared(:repartition)
      end
    end
  end
end
