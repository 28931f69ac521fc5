# frozen_string_literal: true

module Penstock
  module CLI
    module Replay
      # One lane's entries in order, and what can only be known by looking ahead or back: a unit's records, a record's
      # key, a decision's effects. Immutable.
      class Script
        # `values` as they were recorded; symbols have become strings.
        Entry = Struct.new(:number, :kind, :at, :values) do
          def [](index) = values[index]
        end
        # A unit that was handed out; `offsets` is nil if only the take knows the gaps within it.
        Handed = Struct.new(:entry, :action, :first, :last, :size, :attempt, :key, :offsets)

        # Kinds of entries that may stand between a decision and its effects.
        BETWEEN = %i[gap back incarnation went_on effect lost].freeze
        # Effects that belong neither to an outcome nor to a take.
        LETTING_IN = %w[LetIn Drop PutBack Prepare PrepareEnded].freeze
        private_constant :BETWEEN, :LETTING_IN

        # @return [Array<Entry>]
        attr_reader :entries

        # @param rows [Array<Array>] as in a dump
        def initialize(rows)
          @entries = rows.each_with_index.map { |(kind, at, *values), number| Entry.new(number, kind.to_sym, at, values) }
          @units = @entries.select { |entry| entry.kind == :unit }.to_h { |entry| [entry.number, handed(entry)] }
          @later = Hash.new { |known, offset| known[offset] = [] }
          @units.each_value { |unit| (unit.offsets || []).each { |offset| @later[offset] << unit } if unit.action == "consume" }
          @later.default = []
        end

        # @param entry [Entry] of kind :unit
        # @return [Handed]
        def unit(entry) = @units.fetch(entry.number)

        # A log that was re-created has other records at the same offsets.
        # @param entry [Entry]
        # @return [Handed, nil] the next unit that had the record
        def next_unit(offset, entry) = @later[offset].find { |unit| unit.entry.number > entry.number }

        # @return [Boolean] whether a unit had the record later
        def handed_out?(offset, entry) = !next_unit(offset, entry).nil?

        # @return [Object, nil] stand-in for its key
        def key(offset, entry) = next_unit(offset, entry)&.key

        # @return [Array<Array>] name and values of the effects of a decision; those of admission may follow directly
        def effects(entry)
          following(entry, *BETWEEN).select { |one| one.kind == :effect }.map(&:values).reject { |effect| letting_in?(*effect) }
        end

        # @return [Array<Entry>] the entries of these kinds that directly follow the entry
        def following(entry, *kinds)
          @entries.drop(entry.number + 1).take_while { |one| kinds.include?(one.kind) }
        end

        # @param take [Entry] of kind :take
        # @return [Array<Integer>, nil] its records; nil: it had more gaps than were recorded. If the log went
        #   backwards, a gap ends below its beginning.
        def records(take)
          _from, _to, size, first, last = take.values
          return [] if size.zero?
          starts, ends = [first], []
          following(take, :gap).each do |gap|
            ends << (gap[0] - 1)
            starts << gap[1]
          end
          offsets = starts.zip([*ends, last]).flat_map { |from, to| (from..to).to_a }
          offsets if offsets.size == size
        end

        # @return [Boolean] whether the admitted records are recorded, too
        def admissions?
          @units.each_value.none? { |unit| unit.action == "consume" } || @entries.any? { |one| one.kind == :let_in }
        end

        # @param state [Entry]
        # @return [Integer, nil] end of the partition, if the last take before has seen it
        def end_before(state)
          last = @entries.take(state.number).reverse_each.find { |entry| %i[take incarnation assigned].include?(entry.kind) }
          last[5] if last&.kind == :take
        end

        # @param state [Entry]
        # @return [Array<Handed>] units that ran at that time, as far as it is known
        def out_at(state)
          @entries.take(state.number).each_with_object([]) do |entry, out|
            case entry.kind
            when :unit then out << unit(entry)
            when :outcome then out.delete_if { |one| [one.action, one.first] == entry.values.first(2) }
            when :back then out.pop(entry[0])
            when :incarnation, :assigned then out.clear
            end
          end
        end

        private

        def letting_in?(name, first = nil, second = nil, *)
          LETTING_IN.include?(name) || (name == "Seek" && %w[filter awaited].include?(second)) ||
            (name == "Emit" && first.start_with?("filtering."))
        end

        def handed(entry)
          action, first, last, size, attempt, key = entry.values
          scattered = following(entry, :of).flat_map(&:values)
          offsets = scattered.empty? ? ((first..last).to_a if size == last - first + 1) : scattered
          Handed.new(entry, action, first, last, size, attempt, key, offsets)
        end
      end
    end
  end
end
