# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Log
      # Limits lines that repeat: the first {FIRST} of a kind are written, the others counted, and every {WINDOW_MS} ms a line
      # has their number and the text of the last one. A kind that becomes rare again is written in full again. All kinds of one
      # scope (a topic) together write at most {LINES} lines per window, and have at most {KINDS} counts and one for all others.
      #
      # Any thread; the lock is held for a few operations. Only lines are limited, never events.
      class Repetitions
        WINDOW_MS = 5_000
        FIRST = 3
        LINES = 12
        KINDS = 8
        LEVELS = %i[debug info warn error fatal].freeze
        OTHERS = Object.new.freeze
        private_constant :LEVELS, :OTHERS

        # The lines of one kind in the window. `storm`: there were too many in the last one.
        Kind = Struct.new(:count, :omitted, :storm, :level, :event, :line)
        # `since` is monotonic ms, `lines` the number of lines written.
        Scope = Struct.new(:since, :lines, :kinds)
        private_constant :Kind, :Scope

        # The lines that were omitted: their number, over how many ms, whether they are of different kinds, and the last one.
        Report = Struct.new(:count, :milliseconds, :mixed, :level, :event, :line)

        def initialize
          @lock = Mutex.new
          @scopes = {}
        end

        # @param scope [Object] a topic, usually
        # @param key [Object] equal for lines of the same kind
        # @param now [Integer] monotonic ms
        # @param level [Symbol]
        # @param event [Event]
        # @param line [#call] builds the text
        # @return [Boolean] whether to write the line; if not, it is counted
        def write?(scope, key, now, level, event, line)
          @lock.synchronize do
            entry = @scopes[scope] ||= Scope.new(now, 0, {})
            kind = kind(entry, key)
            kind.count += 1
            if fits?(entry, kind)
              entry.lines += 1
              next true
            end
            kind.omitted += 1
            kind.level = [kind.level, level].compact.max_by { |name| LEVELS.index(name) }
            kind.event, kind.line = event, line
            false
          end
        end

        # @param now [Integer] monotonic ms
        # @param all [Boolean] also of windows that have not ended
        # @return [Array<Report>] for windows that have ended
        def take(now, all: false)
          @lock.synchronize do
            over = @scopes.select { |_scope, entry| all || now - entry.since >= WINDOW_MS }
            reports = over.flat_map { |_scope, entry| reports(entry, now) }
            over.each { |scope, entry| again(scope, entry, now) }
            reports
          end
        end

        # @return [Boolean] whether there is nothing to report, now or at the end of a window
        def empty? = @scopes.empty?

        private

        def kind(entry, key)
          key = OTHERS unless entry.kinds.key?(key) || entry.kinds.size < KINDS
          entry.kinds[key] ||= Kind.new(0, 0, key.equal?(OTHERS))
        end

        def fits?(entry, kind) = !kind.storm && kind.count <= FIRST && entry.lines < LINES

        def reports(entry, now)
          entry.kinds.filter_map do |key, kind|
            next if kind.omitted.zero?
            Report.new(kind.omitted, now - entry.since, key.equal?(OTHERS), kind.level, kind.event, kind.line)
          end
        end

        def again(scope, entry, now)
          entry.kinds.select! { |_key, kind| kind.count > FIRST }
          return @scopes.delete(scope) if entry.kinds.empty?
          entry.kinds.transform_values! { |_kind| Kind.new(0, 0, true) }
          entry.since, entry.lines = now, 0
        end
      end
    end
  end
end
