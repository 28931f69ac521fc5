# frozen_string_literal: true

module Penstock
  module TestSupport
    module FaultRuns
      # Conditions that the jobs of a fault run must meet in addition to the invariants. Each query lists violations.
      class JobChecks
        ENDED = "EXISTS (SELECT 1 FROM runs WHERE runs.application = applications.name AND runs.uid = intents.uid " \
          "AND runs.ended IS NOT NULL AND runs.attempt >= %d)"
        DEAD = "EXISTS (SELECT 1 FROM log AS dead WHERE dead.topic = applications.dead_topic AND dead.uid = intents.uid)"

        QUERIES = {
          "i1_outcome" => <<~SQL,
            SELECT 'job ' || sequence || ' (' || kind || ') was acknowledged and neither ended as it should nor is it a dead letter'
            FROM intents JOIN applications ON applications.topic = intents.topic
            WHERE EXISTS (SELECT 1 FROM outcomes WHERE outcomes.uid = intents.uid AND outcomes.what = 'ack') AND NOT CASE
              WHEN kind LIKE 'poison%' OR kind = 'kill' THEN #{DEAD}
              WHEN kind = 'retried' THEN #{format(ENDED, 3)}
              ELSE #{format(ENDED, 1)} END
          SQL
          "i2_ids" => <<~SQL,
            SELECT 'job ' || sequence || ' has ' || COUNT(DISTINCT uid) || ' ids' FROM log JOIN applications USING (topic)
            GROUP BY topic, sequence HAVING COUNT(DISTINCT uid) <> 1
          SQL
          "i2_attributes" => <<~SQL,
            SELECT 'job ' || sequence || ' was enqueued with the attributes of ' || COALESCE(header_uid, 'none')
            FROM log JOIN applications USING (topic) WHERE header_uid IS NOT CAST(sequence AS TEXT)
          SQL
          "i5_run_though_complete" => <<~SQL,
            SELECT runs.topic || '/' || runs.partition || ' offset ' || runs.offset || ' ran in a process that got the partition ' ||
              'after a commit had marked it as complete'
            FROM adoptions JOIN applications ON applications.name = adoptions.application
              JOIN samples ON samples.id = (SELECT MAX(id) FROM samples AS earlier
                WHERE earlier.consumer_group = applications.consumer_group AND earlier.topic = adoptions.topic
                  AND earlier.partition = adoptions.partition AND earlier.after < adoptions.began)
              JOIN completed ON completed.sample = samples.id
              JOIN runs ON runs.process = adoptions.process AND runs.topic = adoptions.topic
                AND runs.partition = adoptions.partition AND runs.began BETWEEN adoptions.began AND adoptions.ended
                AND runs.offset >= completed.first AND runs.offset < completed.next
          SQL
          "i12_killer" => <<~SQL,
            SELECT 'job ' || dead.sequence || ' (' || dead.kind || ') is a dead letter with ' || dead.headers
            FROM log AS dead JOIN applications ON applications.dead_topic = dead.topic
            WHERE dead.kind = 'kill:1' OR (dead.kind = 'kill' AND dead.headers NOT LIKE '%["penstock_reason","quarantined"]%')
          SQL
          "i5_enqueued_twice" => <<~SQL,
            SELECT 'job ' || sequence || ' (' || kind || ') is ' || COUNT(*) || ' times in its queue' FROM log
              JOIN applications USING (topic)
            WHERE kind <> 'retried' AND kind NOT LIKE 'due:%' GROUP BY uid HAVING COUNT(*) > 1
          SQL
          "i3_early" => <<~SQL
            SELECT 'job ' || sequence || ' was due at ' || SUBSTR(kind, 5) || ' and in its queue at ' || timestamp
            FROM log JOIN applications USING (topic) WHERE kind LIKE 'due:%' AND timestamp < CAST(SUBSTR(kind, 5) AS INTEGER)
          SQL
        }.freeze
        DELAY_ID = /\["penstock_delay_id","(\w[^"]*)"\]/

        # @param database [Database]
        def initialize(database)
          @database = database
        end

        # @return [Hash{String => Array<String>}] violations by the name of the check
        def violations
          QUERIES.to_h { |name, sql| [name, @database.rows(sql).flatten] }.merge("i5_moved_twice" => copies)
            .reject { |_name, list| list.empty? }
        end

        # @return [Hash]
        def figures
          {jobs: tally("SELECT kind FROM intents WHERE kind NOT LIKE 'due:%'"),
           dead: tally("SELECT kind FROM log JOIN applications ON applications.dead_topic = log.topic"),
           ids: @database.value("SELECT COUNT(DISTINCT uid) FROM intents"),
           killed: @database.value("SELECT COUNT(*) FROM processes WHERE ending = 'signal KILL'"),
           copies: @database.value("SELECT COUNT(*) - COUNT(DISTINCT uid) FROM log WHERE kind LIKE 'due:%'"),
           late_ms: lateness}.compact
        end

        private

        # A message that was moved twice keeps its id.
        def copies
          rows = @database.rows("SELECT uid, headers FROM log JOIN applications USING (topic) WHERE kind LIKE 'due:%'")
          rows.group_by(&:first).filter_map do |uid, list|
            ids = list.map { |_uid, headers| headers[DELAY_ID, 1] }.uniq
            "#{uid} has the delay ids #{ids}" unless ids.size == 1 && ids.first
          end
        end

        def tally(sql) = @database.rows(sql).flatten.tally

        # @return [Hash, nil] of delayed jobs
        def lateness
          late = @database.rows(<<~SQL).flatten.sort
            SELECT MIN(timestamp - CAST(SUBSTR(kind, 5) AS INTEGER)) FROM log WHERE kind LIKE 'due:%' GROUP BY uid
          SQL
          {median: late[late.size / 2], most: late.last} if late.any?
        end
      end
    end
  end
end
