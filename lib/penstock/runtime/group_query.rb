# frozen_string_literal: true

require_relative "../errors"
require_relative "../on_demand"

module Penstock
  module Runtime
    # Asks the cluster for the members of a consumer group, on a thread of its own and with a client of its own, which is closed
    # after the answer. It joins nothing and changes nothing. One per connection; called on the poll loop's thread.
    class GroupQuery
      TIMEOUT_MS = 5_000
      private_constant :TIMEOUT_MS

      # @param group_id [String]
      # @param kafka [Hash] librdkafka's properties
      # @param threads [Threads]
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      def initialize(group_id, kafka, threads, token_provider: nil)
        @group_id = group_id
        @kafka = kafka
        @threads = threads
        @token_provider = token_provider
        @asking = false
      end

      # Starts the query, unless an earlier one has no answer yet.
      # @yieldparam description [Hash, nil] as from {Admin#group_info}; nil where there was no answer
      # @yieldparam error [Exception, nil] why there was none
      # @return [Boolean] whether it was asked
      def ask(&answered)
        return false if @asking
        @asking = true
        @threads.start("penstock group") { run(&answered) }
        true
      rescue ThreadError # no thread can be started now
        @asking = false
      end

      private

      def run
        description, error = describe
        yield description, error
      ensure
        @asking = false
      end

      # Loads Admin only here, when something has to be explained.
      def describe
        Admin.open(@kafka, timeout_ms: TIMEOUT_MS, token_provider: @token_provider) { |admin| [admin.group_info(@group_id), nil] }
      rescue => error # the embedded broker doesn't describe groups; a token provider may raise anything
        [nil, error]
      end
    end
  end
end
