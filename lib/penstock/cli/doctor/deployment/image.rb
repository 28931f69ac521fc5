# frozen_string_literal: true

require "json"
require_relative "../step"

module Penstock
  module CLI
    module Doctor
      class Deployment
        # Checks in a Dockerfile whether a stop signal reaches the process. A Dockerfile has no stop timeout.
        class Image
          # @param path [String]
          # @param text [String]
          def initialize(path, text)
            @path = path
            @lines = text.gsub("\\\n", " ").lines(chomp: true)
          end

          # @return [Array<Step>]
          def steps = [started, signal].compact

          private

          def last(name) = @lines.filter_map { |line| line[/\A\s*#{name}\s+(.*)/i, 1] }.last

          # If both are given, ENTRYPOINT is what runs.
          def started
            name = %w[ENTRYPOINT CMD].find { |one| last(one) } or return Step.skipped(@path, "starts what its base image starts")
            return Step.ok(@path, "#{name} is a list: TERM reaches the process") if list?(last(name))
            Step.failed(@path, "#{name} #{last(name)}: a shell is process 1 and passes no signal on, so a stop is a kill",
              "write it as a list: #{name} #{JSON.generate(last(name).split)}")
          end

          def list?(text)
            JSON.parse(text).is_a?(Array)
          rescue JSON::ParserError
            false
          end

          def signal
            text = last("STOPSIGNAL")
            return if text.nil? || text.match?(/\A(?:SIG)?(?:TERM|INT|QUIT)\z/)
            Step.failed(@path, "STOPSIGNAL #{text} doesn't stop the server", "remove it: SIGTERM is the default")
          end
        end
      end
    end
  end
end
