# frozen_string_literal: true

module Penstock
  module Routing
    # A regular expression over names of topics. Three engines read it: Ruby's, the C library's (POSIX, by librdkafka), and
    # the broker's (RE2/J, under `group.protocol: consumer`). It is kept to what they share, and gets the same meaning in
    # all: it must fit from the beginning of the name; the end is free unless it says `$`.
    class TopicPattern
      # What one of the engines doesn't know, and what to write instead.
      FOREIGN = {
        /\(\?/ => "a group that begins with (?: write plain parentheses, without look-around, names or options",
        /\\[dD]/ => "\\d: write [0-9]",
        /\\[wW]/ => "\\w: write [A-Za-z0-9_]",
        /\\[sShHR]/ => "\\s or the like: names of topics have no spaces",
        /\\[bBAzZG]/ => "\\b, \\A, \\z or the like: it fits from the beginning by itself, $ is the end",
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

      # @return [String] what to subscribe to, for librdkafka and the C library: it searches, so the beginning is enough
      def subscription
        "^#{grouped}"
      end

      # @return [String] what to subscribe to, for the broker: it wants the whole name to fit
      def full_subscription
        body.end_with?("$", ".*") ? "^#{grouped}" : "^#{grouped}.*"
      end

      # @param name [String] name of a topic
      # @return [Boolean]
      def match?(name)
        @matcher.match?(name)
      end

      # @return [String] a name for a pattern that was given none; another expression, another name
      def default_name
        require "digest" # few applications have patterns
        "penstock-pattern-#{Digest::SHA256.hexdigest(source)[0, 12]}"
      end

      # @return [Array<String>] what isn't the same in all engines, in words
      def complaints
        found = FOREIGN.filter_map { |foreign, words| words if foreign.match?(unescaped) }
        found << "an option such as /i: write both cases" unless @regexp.options.zero?
        found
      end

      private

      def body
        source.delete_prefix("^")
      end

      # `^a|b` would leave the b unanchored.
      def grouped
        body.include?("|") ? "(#{body})" : body
      end

      # Escaped backslashes would hide or fake what follows them.
      def unescaped
        source.gsub("\\\\", "")
      end
    end
  end
end
