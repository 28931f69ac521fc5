# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Segments
      # What the commands about split groups have in common: which groups they are about, and where those stand. All are looked
      # at before anything is done.
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
