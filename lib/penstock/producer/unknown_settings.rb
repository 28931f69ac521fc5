# frozen_string_literal: true

require_relative "../compat/karafka/setting_tree"
require_relative "../compat/karafka/settings"
require_relative "../errors"
require_relative "../nearest"

module Penstock
  class Producer
    # Collects settings that don't exist while a block sets them, so that they are reported with all other problems. Part of
    # {Settings}.
    module UnknownSettings
      FORMER = Compat::Karafka::Settings::PRODUCER
      # Methods that Ruby calls implicitly, `to_ary` and the like, aren't settings.
      NAME = /\A(?!to_)[a-z]\w*=?\z/
      private_constant :FORMER, :NAME

      private

      # Only while a block runs; finished settings have no other methods than their own.
      def method_missing(name, *arguments)
        plain = name.to_s
        return super if frozen? || !NAME.match?(plain)
        return unknown(plain.delete_suffix("=")) if plain.end_with?("=") || !arguments.empty?

        unknown(plain) unless FORMER.key?(plain)
        Compat::Karafka::SettingTree.new(plain) { |path| unknown(path) if FORMER.key?(plain) }
      end

      # Methods that are only collected don't count as existing.
      def respond_to_missing?(name, all = false) = super

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
