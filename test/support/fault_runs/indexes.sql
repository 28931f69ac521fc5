-- Created after everything is loaded.
CREATE INDEX intents_of_topics ON intents(topic);
CREATE INDEX outcomes_of_uids ON outcomes(uid);
CREATE INDEX log_of_uids ON log(uid);
CREATE INDEX runs_of_records ON runs(application, topic, partition, offset, ended);
CREATE INDEX runs_of_processes ON runs(process, topic, partition, began);
CREATE INDEX runs_of_uids ON runs(application, uid);
CREATE INDEX calls_of_processes ON calls(process, topic, partition, first);
CREATE INDEX samples_of_partitions ON samples(consumer_group, topic, partition, offset, after);
CREATE INDEX rebalances_of_processes ON rebalances(process, topic, partition, at);
CREATE INDEX letters_of_records ON letters(application, topic, partition, offset);
CREATE INDEX events_of_processes ON events(process, name, at);
CREATE INDEX errors_of_processes ON errors(process, type, at);
CREATE INDEX transactions_of_processes ON transactions(process, topic, partition, at);

-- When the group had finished with a record: its first run that ended, or the message that was sent in its place.
CREATE TABLE done AS
  SELECT application, topic, partition, offset, MIN(at) AS at, run -- of the row with the lowest `at`
  FROM (SELECT application, topic, partition, offset, ended AS at, id AS run FROM runs WHERE ended IS NOT NULL
        UNION ALL SELECT application, topic, partition, offset, at, NULL FROM letters)
  GROUP BY application, topic, partition, offset;
CREATE UNIQUE INDEX done_records ON done(application, topic, partition, offset);

-- The committed offset when a process was assigned a partition.
CREATE TABLE adoptions AS
  SELECT rebalances.process, applications.name AS application, rebalances.topic, rebalances.partition, rebalances.at AS began,
    LEAD(rebalances.at, 1, 1 << 62) OVER (PARTITION BY rebalances.process, rebalances.topic, rebalances.partition
      ORDER BY rebalances.at) AS ended,
    (SELECT MAX(offset) FROM samples WHERE samples.consumer_group = applications.consumer_group
      AND samples.topic = rebalances.topic AND samples.partition = rebalances.partition AND samples.after < rebalances.at) AS base
  FROM rebalances JOIN processes ON processes.id = rebalances.process JOIN applications ON applications.name = processes.application
  WHERE rebalances.kind = 'assign';

-- Each run with the lane it belongs to: runs of a lane must not run at the same time, nor out of order.
CREATE TABLE laned AS
  SELECT runs.*, applications.lane AS division,
    CASE applications.lane WHEN 'whole' THEN 'partition ' || runs.partition
      WHEN 'key' THEN runs.partition || ' ' || COALESCE(log.key, 'offset ' || runs.offset) END AS lane,
    COALESCE(runs.ended, runs.failed, processes.ended, processes.last) AS over
  FROM runs JOIN applications ON applications.name = runs.application JOIN processes ON processes.id = runs.process
    LEFT JOIN log ON log.topic = runs.topic AND log.partition = runs.partition AND log.offset = runs.offset
  WHERE applications.lane <> 'message' AND runs.topic = applications.topic;
CREATE INDEX laned_lanes ON laned(application, lane, offset);
CREATE INDEX laned_times ON laned(application, lane, began);
CREATE INDEX laned_ids ON laned(id);

-- Runs that began while an earlier one of their lane had not ended.
CREATE TABLE overlapping AS
  SELECT id FROM (SELECT id, began, MAX(over) OVER (PARTITION BY application, lane ORDER BY began, id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest FROM laned) WHERE began < latest;
