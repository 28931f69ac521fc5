# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists readers of Karafka's routed topics that Penstock's don't have: a call raises with the reader to use instead of
      # "undefined method". Included in {Routing::Topic}.
      module Topic
        # Options of a route, by the reader's name.
        OPTIONS = {
          adaptive_iterator: :adaptive_iterator, dead_letter_queue: :dead_letter_queue, delaying: :delay_by, expiring: :expire_in,
          filtering: :filter, inline_insights: :inline_insights, long_running_job: :long_running_job,
          offset_metadata: :offset_metadata, periodic_job: :periodic_job, throttling: :throttle, virtual_partitions: :parallel
        }.freeze
        OTHERS = {
          declaratives: "declaration", eofing: "eofed?", eofing?: "eofed?", manual_offset_management: "manual_offset_management?",
          patterns: "pattern", patterns?: "pattern? and discovered?", direct_assignments: "assigned",
          direct_assignments?: "direct?", pause_timeout: "pause.timeout", pause_max_timeout: "pause.max_timeout",
          pause_with_exponential_backoff: "pause.exponential", subscription_name: "name"
        }.freeze

        of_options = OPTIONS.flat_map { |name, verb| [name, :"#{name}?"].product(["features[:#{verb}]"]) }
        of_options.chain(OTHERS).each do |name, instead|
          # @raise [NoMethodError]
          # @api private
          define_method(name) do
            raise NoMethodError, "a routed topic (#{self.name}) has no #{name}: use topic.#{instead}. See " \
              "docs/coming-from-karafka.md", caller
          end
        end
      end
    end
  end
end
