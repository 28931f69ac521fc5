# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Reports what happened to one record (complete, failing, gone, or missing), from the cluster, and from a dump if
      # there is one.
      class Why < Command
        command "why", "Reports what happened to one record", usage: "TOPIC PARTITION OFFSET [options]", arguments: 3..3
        details <<~TEXT
          The answer comes from the group's commit, with its metadata, and from the beginning and end of the log. Commits don't
          contain what is running at the moment: send SIGTTIN to the server and pass the file it writes with --dump.
        TEXT

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.value(:group, "--group GROUP", "the consumer group (default: the application's that consumes the topic)")
          parser.value(:dump, "--dump FILE", "also read this dump of the flight recorder")
          parser.flag(:json, "--json", "as JSON")
        end

        def call(words)
          require_relative "../why/question"

          topic, partition, offset = words[0], number(words[1], "PARTITION"), number(words[2], "OFFSET")
          target = Target.new(context, options)
          answer = CLI::Why::Question.new(target, group(target, topic), topic, partition, options).answer(offset)
          options[:json] ? say_json(answer.to_h) : say(*answer.lines)
        end

        def number(word, name)
          found = Integer(word, 10, exception: false)
          return found if found && !found.negative?

          fail_usage "#{name} must be a number of at least 0, is #{word.inspect}"
        end

        def group(target, topic)
          return options[:group] if options[:group]

          found = target.groups.select { |_group, topics| topics.include?(topic) }.keys
          return found.first if found.size == 1

          fail_usage "name the group with --group: #{found.empty? ? "no application here consumes #{topic}" : found.join(", ")}"
        end
      end
    end
  end
end
