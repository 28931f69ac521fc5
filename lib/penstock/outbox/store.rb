# frozen_string_literal: true

require_relative "settlement"

module Penstock
  module Outbox
    # Reads and updates the table for the relay: rows to be sent, and the results. Contains all SQL statements. Stateless;
    # where a comment notes it, the caller holds the lock ({#exclusively}).
    class Store
      # The part of a row that a turn reads before it reads the payload; `blocker` is the parked row of its strand.
      Slot = Struct.new(:id, :strand, :state, :bytes, :blocker)

      # The number of rows in each state. Counts stop at {COUNTED}; ages in ms.
      Lag = Struct.new(:ready, :parked, :held, :aside, :oldest_age_ms, keyword_init: true) do
        # @return [Integer] rows that still have to be sent
        def pending = ready + parked + held
      end

      # Counting a huge table exactly costs too much.
      COUNTED = 100_000
      # While stuck rows are left out: how many times the rows of a turn are read to find that many strands.
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

      # Yields a callable that checks the lock: it raises when the lock was lost. Queries of the block aren't logged.
      #
      # @return [Object, :busy]
      def exclusively
        quietly_connected do |connection|
          @database.model.uncached do
            @database.dialect.exclusively(connection) { yield -> { @database.dialect.look_after(connection) } }
          end
        end
      end

      # @raise [ConfigurationError] the table can't keep an order
      def check!
        problems = @database.with_table_hint do
          found = @database.connected { |connection| @database.dialect.problems(connection) }
          @database.model.columns_hash # raises if there is no table
          found
        end
        raise ConfigurationError.new(problems.map { |text| Problem.new("outbox", text) }) unless problems.empty?
      end

      # Returns what may be sent, by id: rows that are ready, and parked rows that are due; also ready rows that must be held
      # because their parked row isn't due. The caller holds the lock.
      #
      # @param skip [Outage::Skip] strands and rows to leave out
      # @return [Array<Slot>]
      def head(skip)
        (due(skip) + ready(skip)).sort_by(&:id).uniq(&:id)
      end

      # @param ids [Array<Integer>]
      # @return [Array<Hash{String => Object}>] rows by id
      def take(ids)
        rows.where(id: ids).order(:id).pluck(*COLUMNS).map { |values| COLUMNS.zip(values).to_h }
      end

      # Writes the results. Rows may have been discarded or retried while they were sent.
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

      # Removes rows that Kafka acknowledged in a turn whose results couldn't be written: another relay may have parked them
      # and held later rows since.
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

      # Releases held rows whose parked row no longer exists.
      # @return [Integer] how many are ready again
      def release_orphans
        rows.where("state = 'held'").where("NOT EXISTS (SELECT 1 FROM #{table} parked " \
          "WHERE parked.id = #{table}.blocker_id AND parked.state = 'parked')").update_all(state: "ready", blocker_id: nil)
      end

      # @return [Lag]
      def lag
        @database.quietly do
          counts = %w[ready parked held aside].to_h { |state| [state.to_sym, count(state)] }
          Lag.new(**counts, oldest_age_ms: oldest_age_ms)
        end
      end

      # @param state [String]
      # @return [Array<Hash{String => Object}>] rows without their payload, the oldest first
      def list(state, limit)
        rows.where(state: state).order(:id).limit(limit).pluck(*LISTED).map { |values| LISTED.zip(values).to_h }
      end

      # @param ids [Array<Integer>] rows that are parked or aside
      # @return [Integer] how many are due now
      def retry(ids)
        @database.model.transaction do
          rows.where(id: ids, state: "parked").update_all(due_ms: 0) +
            rows.where(id: ids, state: "aside").update_all(state: "ready", due_ms: nil)
        end
      end

      # Deletes them one by one: one statement for several rows would lock them in another order than a turn does.
      #
      # @param ids [Array<Integer>] rows that are parked or aside
      # @return [Integer] number of deleted rows
      def discard(ids)
        ids.uniq.sum do |id|
          @database.model.transaction do
            rows.where(id: id, state: %w[parked aside]).delete_all.tap { |gone| release([id]) if gone.positive? }
          end
        end
      end

      # @param before_ms [Integer] wall clock
      # @return [Integer] number of deleted rows
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

      def quietly_connected(&block) = @database.quietly { @database.connected(&block) }

      # The row that has been due longest comes first: with the lowest id first, rows that are due again by the next turn would
      # keep others from ever being sent. A due time later than the longest back-off was written by a machine with a wrong
      # clock.
      def due(skip)
        now = @clock.wall_ms
        latest = now + [@settings.max_backoff, Settlement::STUCK_MS].max
        due = rows.where("state = 'parked' AND (due_ms <= ? OR due_ms > ?)", now, latest)
          .order(Arel.sql("CASE WHEN due_ms > #{latest} THEN 0 ELSE due_ms END"))
        slots(but(due, skip), (@settings.batch_size / 2.0).ceil)
      end

      # Rows that wait for a parked row don't take the place of others. The others are read in one statement: if a parked row
      # were discarded between two statements, rows that it held would be overtaken.
      def ready(skip)
        ready = rows.where("state = 'ready'")
        free = but(ready, skip).where("NOT EXISTS (SELECT 1 FROM #{table} parked WHERE #{blocks})")
        return heads(free) unless skip.none?

        first = slots(ready, @settings.batch_size)
        behind = first.select(&:blocker)
        behind.empty? ? first : behind + slots(free, @settings.batch_size)
      end

      # One row per strand is enough to find out where anything can be sent.
      def heads(free)
        slots(free, @settings.batch_size * PROBED).uniq { |slot| slot.strand || slot }.first(@settings.batch_size)
      end

      # The parked row is read in the same statement: if it were discarded between two, rows that it held would be overtaken.
      def slots(relation, limit)
        bytes = Arel.sql("coalesce(#{@database.dialect.length("payload")}, 0)")
        blocker = Arel.sql("(SELECT max(parked.id) FROM #{table} parked WHERE #{blocks})")
        relation.order(:id).limit(limit).pluck(:id, :strand, :state, bytes, blocker).map { |values| Slot.new(*values) }
      end

      # SQL: true if the parked row blocks the other row.
      def blocks = "parked.state = 'parked' AND parked.strand = #{table}.strand"

      def but(relation, skip)
        relation = relation.where("strand IS NULL OR strand NOT IN (?)", skip.strands) if skip.strands.any?
        skip.ids.any? ? relation.where.not(id: skip.ids) : relation
      end

      def table
        @table ||= @database.connected { |connection| connection.quote_table_name(@database.table) }
      end

      def unsent(ids) = rows.where(id: ids, state: %w[ready parked])

      # Updates rows with equal columns together: there may be thousands.
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

      # Holds rows only if the other row is parked now, and can't be discarded before they are held: the update locks it. Rows
      # held for a row that no longer exists would be overtaken by later ones.
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

      # Held rows are younger than the parked row for which they wait.
      def oldest_age_ms
        created = %w[ready parked].filter_map { |state| rows.where("state = '#{state}'").order(:id).limit(1).pick(:created_ms) }
        created.empty? ? nil : [@clock.wall_ms - created.min, 0].max
      end
    end
  end
end
