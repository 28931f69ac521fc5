# frozen_string_literal: true

module Penstock
  module Routing
    # A regular expression for topic names. Three engines read it: Ruby's, the C library's (POSIX, used by librdkafka),
    # and the broker's (RE2/J, under `group.protocol: consumer`). Only syntax that all three share is allowed, with the
    # same meaning in all: it must match from the beginning of the name; the end is open unless it is `$`.
    class TopicPattern
      # Syntax that one of the engines doesn't support, and what to write instead.
      FOREIGN = {
        /\(\?/ => "a group that begins with (?: write plain parentheses, without look-around, names or options",
        /\\[dD]/ => "\\d: write [0-9]",
        /\\[wW]/ => "\\w: write [A-Za-z0-9_]",
        /\\[sShHR]/ => "\\s or the like: names of topics have no spaces",
        /\\[bBAzZG]/ => "\\b, \\A, \\z or the like: it always matches from the beginning, $ is the end",
        /\\[pPkg1-9]/ => "a class of characters by name or a back reference: write the characters",
        /[*+?}][+?]/ => "a lazy or possessive quantifier: write it plain",
        /&&/ => "an intersection of classes: write the characters"
      }.freeze

      # @return [Regexp]
      attr_reader :regexp

      def initialize(regexp)
        @regexp = regexp
        @matcher = /\A(?:#{body})/
        freeze
      end

      # @return [String] as written
      def source
        @regexp.source
      end

      # @return [String] the subscription for librdkafka and the C library: it searches, so anchoring the beginning is
      #   enough
      def subscription
        "^#{grouped}"
      end

      # @return [String] the subscription for the broker: it must match the whole name
      def full_subscription
        body.end_with?("$", ".*") ? "^#{grouped}" : "^#{grouped}.*"
      end

      # @param name [String] name of a topic
      # @return [Boolean]
      def match?(name)
        @matcher.match?(name)
      end

      # @return [String] name for a pattern without one; a different expression gives a different name
      def default_name
        require "digest" # few applications have patterns
        "penstock-pattern-#{Digest::SHA256.hexdigest(source)[0, 12]}"
      end

      # @return [Array<String>] texts about syntax that differs between the engines
      def complaints
        found = FOREIGN.filter_map { |foreign, words| words if foreign.match?(unescaped) }
        found << "an option such as /i: write both cases" unless @regexp.options.zero?
        found
      end

      private

      def body
        source.delete_prefix("^")
      end

      # `^a|b` would not anchor the b.
      def grouped
        body.include?("|") ? "(#{body})" : body
      end

      # Escaped backslashes would hide or fake the characters after them.
      def unescaped
        source.gsub("\\\\", "")
      end
    end
  end
end
