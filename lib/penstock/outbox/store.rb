# frozen_string_literal: true

require_relative "settlement"

module Penstock
  module Outbox
    # The relay's side of the table: what is to be sent, and what has become of it. All statements are here. Keeps nothing;
    # whoever calls holds the lock ({#exclusively}) where it says so.
    class Store
      # What a turn needs of a row before it takes all of it; `blocker` is the parked row of its strand.
      Slot = Struct.new(:id, :strand, :state, :bytes, :blocker)

      # How the table stands. Counts stop at {COUNTED}; ages in ms.
      Lag = Struct.new(:ready, :parked, :held, :aside, :oldest_age_ms, keyword_init: true) do
        # @return [Integer] rows that are to be sent
        def pending = ready + parked + held
      end

      # Counting a huge table costs more than the difference is worth.
      COUNTED = 100_000
      # How many times as many rows as a turn has are looked at for those it is to have, while what is stuck is left out.
      PROBED = 10
      COLUMNS = %w[id topic message_key payload headers partition partition_key timestamp_ms strand state attempts
        created_ms].freeze
      LISTED = %w[id topic message_key state attempts due_ms last_error created_ms].freeze

      # @param database [Database]
      # @param settings [Settings]
      # @param clock [Clock]
      def initialize(database, settings, clock)
        @database = database
        @settings = settings
        @clock = clock
      end

      # Yields what looks after the lock: called now and then it raises when the lock is gone.
      #
      # @return [Object, :busy]
      def exclusively
        @database.connected do |connection|
          @database.model.uncached do
            @database.dialect.exclusively(connection) { yield -> { @database.dialect.look_after(connection) } }
          end
        end
      end

      # @raise [ConfigurationError] the table can't keep an order
      def check!
        problems = @database.telling { @database.connected { |connection| @database.dialect.problems(connection) } }
        raise ConfigurationError.new(problems.map { |text| Problem.new("outbox", text) }) unless problems.empty?
      end

      # What may be sent, by id: rows that are ready, and parked ones that are due; and what is to be held behind those that
      # aren't. Under the lock.
      #
      # @param skip [Outage::Skip] is left out
      # @return [Array<Slot>]
      def head(skip)
        (due(skip) + ready(skip)).sort_by(&:id).uniq(&:id)
      end

      # @param ids [Array<Integer>]
      # @return [Array<Hash{String => Object}>] rows by id
      def take(ids)
        rows.where(id: ids).order(:id).pluck(*COLUMNS).map { |values| COLUMNS.zip(values).to_h }
      end

      # Somebody may have discarded or retried rows while they were sent.
      #
      # @param settlement [Settlement]
      # @return [Integer] rows that are ready again
      def settle(settlement)
        @database.model.transaction do
          done(settlement.done)
          park(settlement.parked)
          settlement.aside.each { |id, columns| unsent(id).update_all(state: "aside", due_ms: nil, **columns) }
          settlement.held.each { |blocker, ids| hold(blocker, ids) }
          release(settlement.released)
        end
      end

      # Rows that Kafka has, of a turn whose settling failed: another relay may have parked them since, and held what follows.
      #
      # @param ids [Array<Integer>]
      # @return [void]
      def acknowledged(ids)
        return if ids.empty?

        @database.model.transaction do
          done(ids)
          release(ids)
        end
      end

      # Held rows whose parked row somebody took away.
      # @return [Integer] how many are ready again
      def release_orphans
        rows.where("state = 'held'").where("NOT EXISTS (SELECT 1 FROM #{table} parked " \
          "WHERE parked.id = #{table}.blocker_id AND parked.state = 'parked')").update_all(state: "ready", blocker_id: nil)
      end

      # @return [Lag]
      def lag
        counts = %w[ready parked held aside].to_h { |state| [state.to_sym, count(state)] }
        Lag.new(**counts, oldest_age_ms: oldest_age_ms)
      end

      # @param state [String]
      # @return [Array<Hash{String => Object}>] rows without their payload, the oldest first
      def list(state, limit)
        rows.where(state: state).order(:id).limit(limit).pluck(*LISTED).map { |values| LISTED.zip(values).to_h }
      end

      # @param ids [Array<Integer>] rows that are parked or aside
      # @return [Integer] how many are to be sent now
      def retry(ids)
        @database.model.transaction do
          rows.where(id: ids, state: "parked").update_all(due_ms: 0) +
            rows.where(id: ids, state: "aside").update_all(state: "ready", due_ms: nil)
        end
      end

      # Each by itself: several at once would be locked in another order than a turn locks them.
      #
      # @param ids [Array<Integer>] rows that are parked or aside
      # @return [Integer] how many are gone
      def discard(ids)
        ids.uniq.sum do |id|
          @database.model.transaction do
            rows.where(id: id, state: %w[parked aside]).delete_all.tap { |gone| release([id]) if gone.positive? }
          end
        end
      end

      # @param before_ms [Integer] wall clock
      # @return [Integer] how many sent rows are gone
      def purge(before_ms)
        gone = 0
        loop do
          ids = rows.where(state: "sent").where("sent_ms < ?", before_ms).order(:id).limit(1_000).pluck(:id)
          return gone if ids.empty?

          gone += rows.where(id: ids).delete_all
        end
      end

      private

      def rows = @database.rows

      # Who has been due for longest comes first: were it the lowest id, rows that are due again by the next turn would keep
      # all others from theirs. A time further off than any back-off was written by a clock that was wrong.
      def due(skip)
        now = @clock.wall_ms
        latest = now + [@settings.max_backoff, Settlement::STUCK_MS].max
        due = rows.where("state = 'parked' AND (due_ms <= ? OR due_ms > ?)", now, latest)
          .order(Arel.sql("CASE WHEN due_ms > #{latest} THEN 0 ELSE due_ms END"))
        slots(but(due, skip), (@settings.batch_size / 2.0).ceil)
      end

      # Rows that wait behind a parked one take no other's place. The others are read in one statement: a parked row that is
      # discarded between two would have what it held overtaken.
      def ready(skip)
        ready = rows.where("state = 'ready'")
        free = but(ready, skip).where("NOT EXISTS (SELECT 1 FROM #{table} parked WHERE #{blocks})")
        return heads(free) unless skip.none?

        first = slots(ready, @settings.batch_size)
        behind = first.select(&:blocker)
        behind.empty? ? first : behind + slots(free, @settings.batch_size)
      end

      # One of each strand is enough to find out where anything goes out.
      def heads(free)
        slots(free, @settings.batch_size * PROBED).uniq { |slot| slot.strand || slot }.first(@settings.batch_size)
      end

      # The parked row is asked for in the same statement: were it discarded between two, what it held would be overtaken.
      def slots(relation, limit)
        bytes = Arel.sql("coalesce(#{@database.dialect.length("payload")}, 0)")
        blocker = Arel.sql("(SELECT max(parked.id) FROM #{table} parked WHERE #{blocks})")
        relation.order(:id).limit(limit).pluck(:id, :strand, :state, bytes, blocker).map { |values| Slot.new(*values) }
      end

      # Of a row and a parked one.
      def blocks = "parked.state = 'parked' AND parked.strand = #{table}.strand"

      def but(relation, skip)
        relation = relation.where("strand IS NULL OR strand NOT IN (?)", skip.strands) if skip.strands.any?
        skip.ids.any? ? relation.where.not(id: skip.ids) : relation
      end

      def table
        @table ||= @database.connected { |connection| connection.quote_table_name(@database.table) }
      end

      def unsent(ids) = rows.where(id: ids, state: %w[ready parked])

      # Those that are to be alike together: there may be thousands.
      def park(parked)
        parked.group_by(&:last).each do |columns, list|
          list.map(&:first).each_slice(1_000) { |ids| unsent(ids).update_all(state: "parked", **columns) }
        end
      end

      def done(ids)
        return if ids.empty?
        return rows.where(id: ids).delete_all unless @settings.keep?

        rows.where(id: ids).update_all(state: "sent", sent_ms: @clock.wall_ms, due_ms: nil)
      end

      # Only behind a row that is parked now, and that nobody discards before the rows are held: an update locks it. What is
      # held behind nothing would be overtaken by what comes later.
      def hold(blocker, ids)
        return if rows.where(id: blocker, state: "parked").update_all("state = state").zero?

        rows.where(id: ids, state: "ready").update_all(state: "held", blocker_id: blocker)
      end

      def release(blockers)
        return 0 if blockers.empty?

        rows.where("state = 'held'").where(blocker_id: blockers).update_all(state: "ready", blocker_id: nil)
      end

      def count(state)
        some = rows.where("state = '#{state}'").select("1 AS one").limit(COUNTED).to_sql
        @database.connected { |connection| connection.select_value("SELECT count(*) FROM (#{some}) AS counted") }
      end

      # Held rows are younger than the parked one before them.
      def oldest_age_ms
        created = %w[ready parked].filter_map { |state| rows.where("state = '#{state}'").order(:id).limit(1).pick(:created_ms) }
        created.empty? ? nil : [@clock.wall_ms - created.min, 0].max
      end
    end
  end
end
