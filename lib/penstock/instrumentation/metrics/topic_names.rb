# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Metrics
      # The values of the label `topic`. A pattern may stand for any number of topics: its first {MOST} keep their names, the
      # others share the pattern as their name. A name that was kept stays. Any thread; the label of a known topic takes no lock.
      class TopicNames
        # Topics of one pattern.
        MOST = 50
        # Names whose label is remembered; those of further ones are determined each time.
        REMEMBERED = 10_000
        private_constant :REMEMBERED

        # @param pattern_of [#call] gets the name of a topic, returns the text of the pattern that matched it, or nil
        def initialize(pattern_of)
          @pattern_of = pattern_of
          @lock = Mutex.new
          @labels = {}
          @counts = Hash.new(0)
        end

        # @param name [String] of a topic
        # @return [String]
        def [](name) = @labels[name] || @lock.synchronize { @labels[name] || place(name) }

        private

        def place(name)
          label = label(name)
          @labels[name] = label if @labels.size < REMEMBERED
          label
        end

        def label(name)
          pattern = @pattern_of.call(name) or return name
          return pattern if @counts[pattern] >= MOST
          @counts[pattern] += 1
          name
        end
      end
    end
  end
end
