# frozen_string_literal: true

require_relative "../command"
require_relative "../table"
require_relative "../target"

module Penstock
  module CLI
    module Dead
      # Base class of the dead letter commands: the topic, the filters, and the question before a change.
      class Command < CLI::Command
        private

        def define_target(parser)
          Target.define_with_timeout(parser)
          require_relative "filter"
          Filter.define(parser)
          parser.flag(:json, "--json", "as JSON")
        end

        def define_change(parser, all)
          define_target(parser)
          parser.flag(:everything, "--everything", all)
          parser.flag(:dry_run, "--dry-run", "print what would be done, and do nothing")
          parser.flag(:yes, "--yes", "don't ask")
        end

        def session(topic, **more)
          target = Target.new(context, options)
          require_relative "session"
          Session.new(target, topic, {**options, **more})
        rescue ArgumentError => error
          fail_usage error.message
        end

        # @return [Array<Letter>] the letters to change
        def chosen(session)
          fail_usage "select letters (--topic, --error, --since, --partition with --offset, …), or --everything" if
            session.filter.empty? && !options[:everything]

          session.enum_for(:each).to_a
        end

        # @return [Boolean] whether to continue
        def agreed?(question)
          return true if options[:yes]
          fail_usage "this command asks before a change; pass --yes where no terminal can confirm it" unless context.stdin.tty?

          confirmed?(question)
        end

        def print_letters(letters)
          return say_json(letters.map(&:to_h)) if options[:json]
          return say("no dead letters") if letters.empty?

          say Table.new(%w[partition offset from error attempts failed replays omitted], letters.map { |letter| row(letter) })
        end

        def row(letter)
          source = letter.source
          [letter.partition, letter.offset, letter.origin, source&.error_class, source&.attempts, letter.time, letter.replays,
            (letter.omitted.join(", ") if letter.reference?)]
        end
      end
    end
  end
end
