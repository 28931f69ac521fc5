# frozen_string_literal: true

require_relative "../step"
require_relative "grace"

module Penstock
  module CLI
    module Doctor
      class Deployment
        # Checks a systemd unit, or a drop-in of one.
        class Unit
          # systemd's default for DefaultTimeoutStopSec.
          DEFAULT_S = 90

          # @param path [String]
          # @param text [String]
          # @param grace [Grace]
          def initialize(path, text, grace)
            @path = path
            @grace = grace
            @settings = read(text)
          end

          # @return [Array<Step>]
          def steps = [stop, kill_signal, watchdog].compact

          private

          # Later lines win, as in systemd; sections other than [Service] don't matter here.
          def read(text)
            section = nil
            text.gsub("\\\n", " ").each_line(chomp: true).with_object({}) do |line, found|
              section = $1 if line =~ /\A\[(\w+)\]/
              found[$1] = $2.strip if section == "Service" && line =~ /\A(\w+)\s*=(.*)/
            end
          end

          def stop
            setting = @settings.key?("TimeoutStopSec") ? "TimeoutStopSec" : "TimeoutSec"
            text = @settings[setting]
            setting = "TimeoutStopSec" if text.nil?
            text = "infinity" if Grace.parse(text)&.zero? # systemd reads 0 as infinity
            @grace.judge(@path, setting, text, default_s: DEFAULT_S, write: "TimeoutStopSec=%d")
          end

          def kill_signal
            return unless %w[SIGKILL KILL 9].include?(@settings["KillSignal"])
            Step.failed(@path, "KillSignal=#{@settings["KillSignal"]} ends the process without a stop",
              "remove it: SIGTERM is the default")
          end

          # With a type that sends no messages systemd doesn't wait for READY; Penstock feeds a watchdog nevertheless.
          def watchdog
            return if @settings["WatchdogSec"].nil? || @settings["Type"].to_s.start_with?("notify")
            Step.warning(@path, "WatchdogSec without Type=notify: systemd considers it started before anything runs",
              "write Type=notify")
          end
        end
      end
    end
  end
end
