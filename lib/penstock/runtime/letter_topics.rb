# frozen_string_literal: true

require_relative "../processing/failure/policy"
require_relative "boot_topics"

module Penstock
  module Runtime
    # The topics for failed records: dead letters and retries. Stateless.
    module LetterTopics
      # @param topics [Array<Routing::Topic>] the consumed topics
      # @return [Array<BootTopics::Wanted>] each once
      def self.wanted(topics)
        topics.flat_map { |topic| Processing::Failure::Policy.new(topic).topics.map { |name| letters(name, topic) } }.uniq(&:name)
      end

      def self.letters(name, topic)
        BootTopics::Wanted.new(name: name, like: topic.name, purpose: "failed records of #{topic.name}",
          place: "routes: topic #{topic.name}, consumer_group #{topic.consumer_group_id}", reason: "its failed records go to",
          hint: "Create it, or name another topic")
      end
      private_class_method :letters
    end
  end
end
