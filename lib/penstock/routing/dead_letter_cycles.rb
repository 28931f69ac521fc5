# frozen_string_literal: true

module Penstock
  module Routing
    # Finds routes whose dead letters come back to them through the dead letter topics of other routes, in any groups: a record
    # that always fails would go round without end, and once per round into each topic. Used while routes are checked.
    class DeadLetterCycles
      # @param topics [Array<Topic>]
      # @yieldparam topic [Topic]
      # @yieldreturn [String, nil] name of its dead letter topic, as far as it is known before a record fails
      def initialize(topics, &letters)
        @letters = letters
        @topics = topics.select(&:active?)
        @named = @topics.reject(&:pattern?).group_by(&:name)
        @patterns = @topics.select(&:pattern?)
      end

      # @return [Array<(Topic, Array<String>)>] one route of each cycle, and the cycle's topics; the first one is also the last
      def to_a
        found = @topics.filter_map { |topic| (cycle = cycle_of(topic)) && [topic, cycle] }
        found.uniq { |_, cycle| cycle.uniq.sort }
      end

      private

      # The shortest way back. A topic that is its own dead letter topic is a problem of that route alone.
      def cycle_of(start)
        paths = [[start, []]]
        seen = {}.compare_by_identity
        until paths.empty?
          topic, passed = paths.shift
          target = @letters.call(topic) or next
          passed += [target]
          readers(target).each do |reader|
            return ([target, *passed] if passed.size > 1) if reader.equal?(start)

            paths << [reader, passed] unless seen[reader]
            seen[reader] = true
          end
        end
      end

      # In each group, the route that names the topic, otherwise the patterns that match it.
      def readers(name)
        named = @named.fetch(name, [])
        groups = named.map(&:consumer_group_id)
        named + @patterns.select { |topic| topic.pattern.match?(name) && !groups.include?(topic.consumer_group_id) }
      end
    end
  end
end
