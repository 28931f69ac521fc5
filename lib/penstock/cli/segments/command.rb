# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Segments
      # Base class of the commands about split groups: selects the groups and reads their offsets. All groups are
      # checked before anything is changed.
      class Command < CLI::Command
        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.list(:groups, "--groups GROUP,…", "the split groups, as arguments (default: all)")
        end

        def session
          require_relative "session"

          @session ||= Session.new(context, options)
        end

        def plans(words) = session.plans(words | options.fetch(:groups, []))
      end
    end
  end
end
