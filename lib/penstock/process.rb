# frozen_string_literal: true

require_relative "consumer/tags"

module Penstock
  # Labels of this process: `Penstock::Process.tags.add(:host, "rack 7")`. `penstock status` and the health page show them.
  # Everything else is Ruby's Process, so that code inside this module needn't write `::Process`.
  module Process
    class << self
      # @return [Consumer::Tags] a forked process begins with those of its parent. Any thread
      attr_reader :tags

      # @api private
      def const_missing(name) = ::Process.const_get(name)

      private

      def method_missing(name, ...) = ::Process.respond_to?(name) ? ::Process.public_send(name, ...) : super
      def respond_to_missing?(name, all = false) = ::Process.respond_to?(name) || super
    end

    @tags = Consumer::Tags.new
  end
end
