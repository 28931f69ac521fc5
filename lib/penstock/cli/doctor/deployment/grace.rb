# frozen_string_literal: true

require_relative "../step"

module Penstock
  module CLI
    module Doctor
      class Deployment
        # Checks that a supervisor leaves enough time between TERM and KILL: `shutdown_timeout`, within which a server's
        # stop ends, and 15 s, in which a swarm kills the nodes that didn't, a busy machine schedules the process, and
        # exit handlers run. A value.
        class Grace
          MORE_S = 15
          UNITS = {
            "us" => 1e-6, "usec" => 1e-6, "ms" => 1e-3, "msec" => 1e-3, "s" => 1, "sec" => 1, "second" => 1, "seconds" => 1,
            "m" => 60, "min" => 60, "minute" => 60, "minutes" => 60, "h" => 3_600, "hr" => 3_600, "hour" => 3_600,
            "hours" => 3_600, "d" => 86_400, "day" => 86_400, "days" => 86_400, "" => 1
          }.freeze
          private_constant :UNITS

          # @param text [Object] as systemd and Compose write it: `75`, `75s`, `1min 15s`, `1m15s`, `infinity`
          # @return [Float, nil] seconds; nil if the text isn't a time
          def self.parse(text)
            text = text.to_s.strip
            return Float::INFINITY if text == "infinity"
            return unless text.match?(/\A(?:\d+(?:\.\d+)?\s*[a-z]*\s*)+\z/)
            parts = text.scan(/(\d+(?:\.\d+)?)\s*([a-z]*)/)
            parts.sum { |number, unit| Float(number) * UNITS.fetch(unit) } if parts.all? { |_, unit| UNITS.key?(unit) }
          end

          # @param shutdown_timeout_ms [Integer]
          def initialize(shutdown_timeout_ms)
            @timeout_s = shutdown_timeout_ms / 1_000.0
          end

          # @return [Integer] the shortest sufficient time
          def seconds = (@timeout_s + MORE_S).ceil

          # @param name [String] of the step
          # @param setting [String] name of the setting in the file
          #  @param text [Object, nil] its value, see {.parse}; nil if it isn't set
          #  @param default_s [Integer] the value in effect if it isn't set
          #  @param write [String] how the setting is written in the file, with %d for the seconds
          # @return [Step]
          def judge(name, setting, text, default_s:, write:)
            write = "write #{format(write, seconds)}"
            given_s = Grace.parse(text) unless text.nil?
            return Step.failed(name, "#{setting} #{text} is not a time", write) if text && given_s.nil?
            said = given_s ? "#{setting} is #{words(given_s)}" : "#{setting} isn't set, so #{default_s} s"
            return Step.ok(name, "#{said}: shutdown_timeout (#{words(@timeout_s)}) + #{MORE_S} s fit into it") if
              (given_s || default_s) >= seconds
            Step.failed(name, "#{said}: shorter than shutdown_timeout (#{words(@timeout_s)}) + #{MORE_S} s. If its " \
              "jobs take longer, the process is killed: what it did since its last commit runs again elsewhere", write)
          end

          private

          def words(seconds) = (seconds == Float::INFINITY) ? "without end" : format("%g s", seconds)
        end
      end
    end
  end
end
