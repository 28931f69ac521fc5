-- The invariants. Each view lists violations of one of them: application (NULL: the producers'), and a description.

-- I1: no record that the brokers acknowledged is lost.
CREATE VIEW i1_lost_by_brokers AS
  SELECT NULL AS application, outcomes.uid || ' was acknowledged at ' || intents.topic || '/' || outcomes.partition || ' offset '
    || outcomes.offset || ' and is not there' AS what
  FROM outcomes JOIN intents USING (uid)
    LEFT JOIN log ON log.topic = intents.topic AND log.partition = outcomes.partition AND log.offset = outcomes.offset
  WHERE outcomes.what = 'ack' AND log.uid IS NOT intents.uid
    -- An idempotent producer that sent a message again learns that it is stored, but not where.
    AND NOT (outcomes.offset < 0 AND EXISTS (SELECT 1 FROM log AS found WHERE found.uid = intents.uid AND found.topic = intents.topic
      AND found.partition = outcomes.partition));

-- A record that can't be read is done when its position in the source topic is; any other when it ended somewhere in
-- the source or retry topics, or is among the dead letters.
CREATE VIEW i1_lost AS
  SELECT applications.name AS application, log.topic || '/' || log.partition || ' offset ' || log.offset || ' (' ||
    COALESCE(log.uid, 'not a record') || ', ' || COALESCE(log.kind, '') || '): ' || CASE
      WHEN EXISTS (SELECT 1 FROM runs JOIN processes ON processes.id = runs.process WHERE runs.application = applications.name
          AND runs.uid = log.uid AND (processes.damaged > 0 OR processes.missing > 0))
        THEN 'begun, and the journal is damaged'
      WHEN (SELECT MAX(offset) FROM samples WHERE samples.consumer_group = applications.consumer_group
          AND samples.topic = log.topic AND samples.partition = log.partition) > log.offset THEN 'skipped by commit'
      ELSE 'not delivered' END AS what
  FROM applications JOIN log ON log.topic = applications.topic
  WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.application = applications.name AND runs.uid = log.uid AND runs.ended IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM log AS dead WHERE dead.topic = applications.dead_topic AND dead.uid = log.uid)
    AND (log.valid OR NOT EXISTS (SELECT 1 FROM done WHERE done.application = applications.name AND done.topic = log.topic
      AND done.partition = log.partition AND done.offset = log.offset));

-- I2: nothing is invented: not in the log, and not in what consumers are given.
CREATE VIEW i2_invented_by_producers AS
  SELECT NULL AS application, log.topic || '/' || log.partition || ' offset ' || log.offset || ' (' || log.uid || ') ' ||
    CASE WHEN intents.uid IS NULL THEN 'was never produced' ELSE 'is there, though it was reported as certainly failed' END AS what
  FROM log JOIN applications ON applications.topic = log.topic LEFT JOIN intents ON intents.uid = log.uid
  WHERE log.valid AND (intents.uid IS NULL
    OR EXISTS (SELECT 1 FROM outcomes WHERE outcomes.uid = log.uid AND outcomes.what = 'fail'));

CREATE VIEW i2_wrong_content AS
  SELECT runs.application, runs.topic || '/' || runs.partition || ' offset ' || runs.offset || ' attempt ' || runs.attempt || ': ' ||
    CASE WHEN log.offset IS NULL THEN 'there is no such record'
      WHEN runs.uid IS NOT log.uid THEN 'payload of ' || COALESCE(runs.uid, '-') || ' instead of ' || log.uid
      WHEN runs.key IS NOT log.key THEN 'key ' || COALESCE(runs.key, '-') || ' instead of ' || COALESCE(log.key, '-')
      WHEN runs.parsed_header IS NOT log.header_uid
        THEN 'the deserializer saw header ' || COALESCE(runs.parsed_header, '-') || ' instead of ' || COALESCE(log.header_uid, '-')
      ELSE 'header ' || COALESCE(runs.header_uid, '-') || ' instead of ' || COALESCE(log.header_uid, '-') END AS what
  FROM runs LEFT JOIN log ON log.topic = runs.topic AND log.partition = runs.partition AND log.offset = runs.offset
  WHERE log.offset IS NULL OR runs.uid IS NOT log.uid OR runs.key IS NOT log.key OR runs.header_uid IS NOT log.header_uid
    OR runs.header_key IS NOT log.header_key OR runs.parsed_header IS NOT log.header_uid;

-- I3: order. In the log each key's records are in the order in which they were produced; for once each, see I5.
CREATE VIEW i3_order_of_producers AS
  SELECT NULL AS application, topic || '/' || partition || ' offset ' || offset || ': number ' || sequence || ' of ' || key || ' after ' ||
    highest AS what
  FROM (SELECT log.*, MAX(log.sequence) OVER (PARTITION BY log.topic, partition, log.key, intents.process ORDER BY offset
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS highest
        FROM log JOIN intents ON intents.uid = log.uid WHERE log.topic IN (SELECT topic FROM applications))
  WHERE sequence < highest;

-- No run of a record begins before every earlier record of its lane has ended, or was sent elsewhere.
CREATE VIEW i3_order AS
  SELECT application, topic || '/' || partition || ' offset ' || offset || ' (' || lane || ') began ' || ((latest - began) / 1000) ||
    ' ms before an earlier record had ended' AS what
  FROM (SELECT laned.*, MAX(COALESCE(done.at, 0)) OVER (PARTITION BY laned.application, laned.lane ORDER BY laned.offset
          RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
        FROM laned LEFT JOIN done ON done.application = laned.application AND done.topic = laned.topic
          AND done.partition = laned.partition AND done.offset = laned.offset AND done.run IS NOT NULL)
  WHERE began < latest;

-- I4: never two runs of one lane at the same time. One of the two processes may not know yet that it has lost the
-- partition: it was frozen, lost it (also when another one took its group.instance.id), or left the unit running when
-- its time was up.
CREATE VIEW overlaps AS
  SELECT later.application, later.topic, later.partition, later.offset, later.lane, earlier.offset AS other, later.began AS at,
    MIN(earlier.over, later.over) - later.began AS us, earlier.process = later.process AS same,
    EXISTS (SELECT 1 FROM rebalances WHERE rebalances.process = earlier.process AND rebalances.topic = earlier.topic
      AND rebalances.partition = earlier.partition AND rebalances.lost = 1 AND rebalances.at > earlier.began) OR
      EXISTS (SELECT 1 FROM rebalances WHERE rebalances.process = later.process AND rebalances.topic = later.topic
      AND rebalances.partition = later.partition AND rebalances.lost = 1
      AND rebalances.at BETWEEN later.began AND later.began + 60000000) AS lost,
    EXISTS (SELECT 1 FROM events WHERE events.process = earlier.process AND events.name = 'rebalance.unit_left_running'
      AND events.at >= earlier.began) AS left_running,
    EXISTS (SELECT 1 FROM signals JOIN processes ON processes.pid = signals.pid WHERE processes.id = earlier.process
      AND signals.name = 'STOP' AND signals.at < later.began AND signals.at > earlier.began - 60000000) AS frozen
  FROM overlapping JOIN laned AS later ON later.id = overlapping.id
    JOIN laned AS earlier ON earlier.application = later.application AND earlier.lane = later.lane
    AND earlier.began < later.began AND earlier.over > later.began AND earlier.id <> later.id;

CREATE VIEW i4_overlap AS
  SELECT application, topic || '/' || partition || ' offset ' || offset || ' (' || lane || ') began while offset ' || other ||
    ' still ran ' || CASE same WHEN 1 THEN 'in the same process' ELSE 'in another process that owned the partition' END AS what
  FROM overlaps WHERE same OR NOT (lost OR left_running OR frozen);

-- I5: duplicates, each with its cause: the first run that ended, and one that ended later.
CREATE TABLE duplicates AS
  SELECT again.application, again.topic, again.partition, again.offset, again.began AS at, first.ended AS first_ended,
    first.process AS first_process, again.process AS again_process, first.first AS first_first, first.last AS first_last,
    NULL AS cause
  FROM done JOIN runs AS first ON first.id = done.run
    JOIN runs AS again ON again.application = done.application AND again.topic = done.topic AND again.partition = done.partition
      AND again.offset = done.offset AND again.ended IS NOT NULL AND again.id <> done.run;

UPDATE duplicates SET cause = CASE
  WHEN EXISTS (SELECT 1 FROM runs AS failing WHERE failing.process = first_process AND failing.topic = duplicates.topic
      AND failing.partition = duplicates.partition AND failing.failed BETWEEN first_ended AND duplicates.at
      AND failing.first <= duplicates.offset AND failing.last >= duplicates.offset) THEN 'retry of its batch'
  WHEN EXISTS (SELECT 1 FROM transactions WHERE transactions.process = first_process AND transactions.topic = duplicates.topic
      AND transactions.partition = duplicates.partition AND transactions.outcome <> 'committed'
      AND transactions.at BETWEEN first_ended AND duplicates.at) THEN 'aborted transaction'
  WHEN EXISTS (SELECT 1 FROM errors, processes WHERE errors.process IN (first_process, again_process) AND processes.id = errors.process
      AND errors.class = 'Penstock::FencedError' AND processes.ending = 'exit 1' AND first_process <> again_process) THEN 'fenced'
  WHEN EXISTS (SELECT 1 FROM processes, applications WHERE processes.id = first_process AND applications.name = duplicates.application
      AND processes.ending NOT IN ('exit 0', 'runs', 'exit 2') AND first_process <> again_process
      AND first_ended > processes.ended - applications.commit_us - 3000000) THEN 'crash'
  -- Another member had died shortly before: until its session ends the group rebalances, and the coordinator answers no
  -- commit on a connection whose JoinGroup it has not answered yet.
  WHEN EXISTS (SELECT 1 FROM processes AS dead JOIN processes AS earlier ON earlier.application = dead.application
      AND earlier.id <> dead.id AND earlier.ending NOT IN ('exit 0', 'runs')
      AND earlier.ended BETWEEN dead.ended - 15000000 AND dead.ended, applications
      WHERE dead.id = first_process AND applications.name = duplicates.application
      AND dead.ending NOT IN ('exit 0', 'runs', 'exit 2') AND first_process <> again_process
      AND first_ended > earlier.ended - applications.commit_us - 3000000) THEN 'crash'
  WHEN EXISTS (SELECT 1 FROM processes, applications WHERE processes.id = first_process AND applications.name = duplicates.application
      AND processes.ending = 'exit 2' AND first_ended > processes.ended - applications.commit_us - 45000000) THEN 'forced stop'
  WHEN EXISTS (SELECT 1 FROM rebalances WHERE rebalances.process = first_process AND rebalances.topic = duplicates.topic
      AND rebalances.partition = duplicates.partition AND rebalances.lost = 1
      AND rebalances.at BETWEEN first_ended - 60000000 AND duplicates.at + 60000000) THEN 'partition lost'
  WHEN EXISTS (SELECT 1 FROM signals JOIN processes ON processes.pid = signals.pid WHERE processes.id IN (first_process, again_process)
      AND signals.name = 'STOP' AND signals.at BETWEEN first_ended - 60000000 AND duplicates.at + 60000000) THEN 'frozen process'
  WHEN EXISTS (SELECT 1 FROM events WHERE events.process = first_process AND events.name = 'rebalance.unit_left_running'
      AND events.at BETWEEN first_ended - 60000000 AND duplicates.at + 60000000) THEN 'unit left running'
  WHEN EXISTS (SELECT 1 FROM events WHERE events.process = again_process AND events.name = 'offsets.metadata_ignored'
      AND events.at <= duplicates.at AND events.at > duplicates.at - 60000000)
    THEN 'opened without its ledger'
  WHEN EXISTS (SELECT 1 FROM events WHERE events.process IN (first_process, again_process) AND events.name = 'client.reset'
      AND events.at BETWEEN first_ended - 60000000 AND duplicates.at) THEN 'connection reset'
  WHEN EXISTS (SELECT 1 FROM errors, applications WHERE errors.process = first_process AND applications.name = duplicates.application
      AND errors.type = 'offsets.commit.error' AND errors.at BETWEEN first_ended AND duplicates.at + 60000000) THEN 'commit failed'
  WHEN EXISTS (SELECT 1 FROM faults, applications WHERE applications.name = duplicates.application
      AND faults.began < duplicates.at AND COALESCE(faults.ended, faults.began) > first_ended - applications.commit_us - 10000000)
    THEN 'during a fault'
  ELSE 'unexplained' END;

CREATE VIEW i5_unexplained AS
  SELECT application, topic || '/' || partition || ' offset ' || offset || ' ended again ' || ((at - first_ended) / 1000) || ' ms later' AS what
  FROM duplicates WHERE cause = 'unexplained';

-- What was committed before a process got the partition never runs there; but a call of consume that began before, and
-- found out afterwards that the partition was lost, may end normally.
CREATE VIEW i5_run_though_committed AS
  SELECT runs.application, runs.topic || '/' || runs.partition || ' offset ' || runs.offset || ' ran in a process that got the ' ||
    'partition after offset ' || adoptions.base || ' was committed' AS what
  FROM adoptions JOIN runs ON runs.process = adoptions.process AND runs.topic = adoptions.topic
    AND runs.partition = adoptions.partition AND runs.began BETWEEN adoptions.began AND adoptions.ended
  WHERE runs.offset < adoptions.base
    AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.process = runs.process AND calls.topic = runs.topic
      AND calls.partition = runs.partition AND calls.first = runs.first AND calls.at < adoptions.began
      AND calls.at > adoptions.began - 300000000);

CREATE VIEW i5_doubled_by_producers AS
  SELECT NULL AS application, log.uid || ' is ' || COUNT(*) || ' times in ' || log.topic AS what
  FROM log WHERE log.topic IN (SELECT topic FROM applications) AND log.valid GROUP BY log.topic, log.uid HAVING COUNT(*) > 1;

-- I6: nothing is committed that isn't done, neither below the offset nor among the offsets that the metadata marks as
-- complete beyond it.
CREATE VIEW i6_committed_too_early AS
  SELECT application, topic || '/' || partition || ': offset ' || offset || ' was committed before it was done' AS what
  FROM (SELECT applications.name AS application, applications.dead_topic, log.topic, log.partition, log.offset, done.at, done.run,
          (SELECT samples.after FROM samples WHERE samples.consumer_group = applications.consumer_group
            AND samples.topic = log.topic AND samples.partition = log.partition AND samples.offset > log.offset
            ORDER BY samples.offset, samples.after LIMIT 1) AS committed
        FROM applications JOIN application_topics ON application_topics.application = applications.name
          JOIN log ON log.topic = application_topics.topic
          LEFT JOIN done ON done.application = applications.name AND done.topic = log.topic AND done.partition = log.partition
            AND done.offset = log.offset) AS record
  WHERE committed IS NOT NULL AND (at IS NULL OR (run IS NOT NULL AND at > committed))
    AND NOT EXISTS (SELECT 1 FROM letters WHERE letters.application = record.application AND letters.topic = record.topic
      AND letters.partition = record.partition AND letters.offset = record.offset)
    AND NOT EXISTS (SELECT 1 FROM log AS dead WHERE dead.topic = record.dead_topic AND dead.source_topic = record.topic
      AND dead.source_partition = record.partition AND dead.source_offset = record.offset);

CREATE VIEW i6_complete_too_early AS
  SELECT applications.name AS application, samples.topic || '/' || samples.partition || ': offset ' || log.offset ||
    ' was said to be complete beyond ' || samples.offset || ' and was not done' AS what
  FROM completed JOIN samples ON samples.id = completed.sample
    JOIN applications ON applications.consumer_group = samples.consumer_group
    JOIN log ON log.topic = samples.topic AND log.partition = samples.partition AND log.offset >= completed.first
      AND log.offset < completed.next
    LEFT JOIN done ON done.application = applications.name AND done.topic = log.topic AND done.partition = log.partition
      AND done.offset = log.offset
  WHERE (done.at IS NULL OR (done.run IS NOT NULL AND done.at > samples.after))
    AND NOT EXISTS (SELECT 1 FROM letters WHERE letters.application = applications.name AND letters.topic = log.topic
      AND letters.partition = log.partition AND letters.offset = log.offset)
  GROUP BY applications.name, log.topic, log.partition, log.offset;

-- I7: a committed offset never goes back. A coordinator that has just taken over may read an older offset for some
-- seconds, until it knows how far its log is replicated. That is no commit: nobody committed less, and the offset is
-- there again.
CREATE VIEW i7_committed_back AS
  SELECT applications.name AS application, samples.topic || '/' || partition || ': ' || offset || ' was committed after ' || highest
    AS what
  FROM (SELECT samples.*, MAX(offset) OVER (PARTITION BY consumer_group, topic, partition ORDER BY before, id
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS highest FROM samples) AS samples
    JOIN applications USING (consumer_group)
  WHERE offset < highest AND NOT (
    EXISTS (SELECT 1 FROM faults WHERE faults.began < samples.after AND COALESCE(faults.ended, samples.after) > samples.before - 30000000)
    AND EXISTS (SELECT 1 FROM samples AS later WHERE later.consumer_group = samples.consumer_group AND later.topic = samples.topic
      AND later.partition = samples.partition AND later.offset >= samples.highest AND later.id > samples.id)
    AND NOT EXISTS (SELECT 1 FROM commits JOIN processes ON processes.id = commits.process
      WHERE processes.application = applications.name AND commits.topic = samples.topic AND commits.partition = samples.partition
        AND commits.offset < samples.highest
        AND commits.at > (SELECT MIN(first.before) FROM samples AS first WHERE first.consumer_group = samples.consumer_group
          AND first.topic = samples.topic AND first.partition = samples.partition AND first.offset = samples.highest)));

-- I8: each record is copied once, in its partition, in order.
CREATE VIEW i8_copies AS
  SELECT applications.name AS application, source.topic || '/' || source.partition || ' offset ' || source.offset || ' (' ||
    source.uid || ') was copied ' || COUNT(copy.offset) || ' times' AS what
  FROM applications JOIN log AS source ON source.topic = applications.topic
    LEFT JOIN log AS copy ON copy.topic = applications.out_topic AND copy.uid = source.uid
  WHERE applications.out_topic IS NOT NULL AND source.valid
    AND NOT EXISTS (SELECT 1 FROM log AS dead WHERE dead.topic = applications.dead_topic AND dead.uid = source.uid)
  GROUP BY applications.name, source.topic, source.partition, source.offset HAVING COUNT(copy.offset) <> 1;

CREATE VIEW i8_order_of_copies AS
  SELECT application, topic || '/' || partition || ' offset ' || offset || ': copy of number ' || sequence || ' of ' || key || ' after ' ||
    highest AS what
  FROM (SELECT applications.name AS application, copy.*, MAX(copy.sequence) OVER (PARTITION BY copy.topic, copy.partition, copy.key
          ORDER BY copy.offset ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS highest
        FROM applications JOIN log AS copy ON copy.topic = applications.out_topic)
  WHERE sequence < highest;

-- I12: a record that failed permanently is among the dead letters, unchanged, after its attempts, and before its offset
-- moves (I6).
CREATE VIEW i12_letters AS
  SELECT applications.name AS application, source.topic || '/' || source.partition || ' offset ' || source.offset || ': ' || CASE
      WHEN dead.offset IS NULL THEN 'poison without a dead letter'
      WHEN dead.value IS NOT source.value OR dead.key IS NOT source.key THEN 'its dead letter has other bytes'
      WHEN dead.header_uid IS NOT source.header_uid OR dead.header_key IS NOT source.header_key THEN 'its dead letter has other headers'
      ELSE 'its dead letter says ' || COALESCE(dead.source_attempts, '-') || ' attempts' END AS what
  FROM applications JOIN log AS source ON source.topic = applications.topic AND source.kind LIKE 'poison%'
    LEFT JOIN log AS dead ON dead.topic = applications.dead_topic AND dead.uid = source.uid
  WHERE applications.failing AND applications.dead_topic IS NOT NULL AND (dead.offset IS NULL OR dead.value IS NOT source.value
    OR dead.key IS NOT source.key OR dead.header_uid IS NOT source.header_uid OR dead.header_key IS NOT source.header_key
    OR (applications.attempts IS NOT NULL AND dead.source_attempts IS NOT applications.attempts));

CREATE VIEW i12_healthy_dead AS
  SELECT applications.name AS application, dead.topic || '/' || dead.partition || ' offset ' || dead.offset || ': ' || dead.uid ||
    ' (' || dead.kind || ') is a dead letter' AS what
  FROM applications JOIN log AS dead ON dead.topic = applications.dead_topic
  WHERE dead.valid AND dead.kind NOT LIKE 'poison%' AND dead.kind NOT LIKE 'kill%';

-- Figures.
CREATE VIEW doubled AS SELECT application, cause, COUNT(*) AS count FROM duplicates GROUP BY application, cause;

-- How long a partition processed nothing although a record of it was available.
CREATE VIEW stalls AS
  SELECT application, topic, partition, offset, at AS until, at - MAX(there, COALESCE(previous, 0)) AS us
  FROM (SELECT done.application, done.topic, done.partition, done.offset, done.at, (SELECT MIN(outcomes.at) FROM log JOIN outcomes ON outcomes.uid = log.uid AND outcomes.what = 'ack'
            WHERE log.topic = done.topic AND log.partition = done.partition AND log.offset = done.offset) AS there,
          MAX(done.at) OVER (PARTITION BY done.application, done.topic, done.partition ORDER BY done.at
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS previous
        FROM done JOIN applications ON applications.name = done.application AND applications.topic = done.topic)
  WHERE there IS NOT NULL;
