# frozen_string_literal: true

require_relative "../config/elsewhere"
require_relative "../errors"
require_relative "../nearest"

module Penstock
  class Producer
    # Settings of a producer that don't exist: written down when a block says them, told with all other problems. Part of
    # {Settings}.
    module UnknownSettings
      # Those of the incumbent, with what to do instead.
      FORMER = {
        "polling" => "Leave it out: a thread in C polls each producer",
        "statistics_decorator" => "Leave it out: statistics have `_d` and `_fd` of every number"
      }.freeze
      private_constant :FORMER

      private

      def method_missing(name, *arguments)
        plain = name.to_s
        return unknown(plain.delete_suffix("=")) if plain.match?(/\A[a-z]\w*=\z/)
        return super unless FORMER.key?(plain) && arguments.empty?

        Config::Elsewhere.new(plain) { |path| unknown(path) }
      end

      def respond_to_missing?(name, all = false) = FORMER.key?(name.to_s) || super

      def unknown(path) = (@unknown ||= []) << path

      def unknown_problems
        names = self.class::SETTINGS.map(&:name) + [:oauth]
        @unknown.to_a.uniq.map do |path|
          way_out = FORMER[path.split(".").first] || Nearest.hint(path, names) || "docs/producing.md lists all settings"
          Problem.new("config.#{path}", "a producer has no such setting", way_out)
        end
      end
    end
  end
end
