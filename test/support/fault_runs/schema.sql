-- The evidence of a fault run: what it was to do, what its processes recorded, and what Kafka's own client reads.
-- Times are microseconds of the machine's monotonic clock, which is the same for all processes.

CREATE TABLE applications(name TEXT PRIMARY KEY, consumer_group TEXT, topic TEXT, lane TEXT, offsets TEXT, failing INTEGER,
  transactional INTEGER, out_topic TEXT, dead_topic TEXT, attempts INTEGER, commit_us INTEGER);
CREATE TABLE application_topics(application TEXT, topic TEXT, role TEXT);

CREATE TABLE processes(id INTEGER PRIMARY KEY, application TEXT, member TEXT, pid INTEGER, wall INTEGER, began INTEGER, last INTEGER,
  ended INTEGER, ending TEXT, damaged INTEGER, missing INTEGER, path TEXT);
CREATE TABLE intents(uid TEXT PRIMARY KEY, topic TEXT, key TEXT, sequence INTEGER, kind TEXT, at INTEGER, process INTEGER);
CREATE TABLE outcomes(uid TEXT, what TEXT, partition INTEGER, offset INTEGER, error TEXT, at INTEGER);
CREATE TABLE runs(id INTEGER PRIMARY KEY, process INTEGER, number INTEGER, application TEXT, topic TEXT, partition INTEGER,
  offset INTEGER, attempt INTEGER, key TEXT, header_key TEXT, header_uid TEXT, uid TEXT, sequence INTEGER, parsed_header TEXT,
  thread TEXT, consumer TEXT, first INTEGER, last INTEGER, began INTEGER, ended INTEGER, failed INTEGER, error TEXT);
CREATE TABLE calls(process INTEGER, topic TEXT, partition INTEGER, first INTEGER, last INTEGER, at INTEGER); -- of consume
CREATE TABLE marks(process INTEGER, topic TEXT, partition INTEGER, offset INTEGER, answer TEXT, at INTEGER);
CREATE TABLE rebalances(process INTEGER, kind TEXT, topic TEXT, partition INTEGER, lost INTEGER, at INTEGER);
CREATE TABLE commits(process INTEGER, topic TEXT, partition INTEGER, offset INTEGER, at INTEGER);
CREATE TABLE letters(process INTEGER, application TEXT, kind TEXT, topic TEXT, partition INTEGER, offset INTEGER, attempt INTEGER,
  target TEXT, at INTEGER);
CREATE TABLE transactions(process INTEGER, topic TEXT, partition INTEGER, outcome TEXT, at INTEGER);
CREATE TABLE events(process INTEGER, name TEXT, details TEXT, at INTEGER);
CREATE TABLE errors(process INTEGER, type TEXT, class TEXT, message TEXT, at INTEGER);

-- The log, as Kafka's consumer reads it with read_committed.
CREATE TABLE log(topic TEXT, partition INTEGER, offset INTEGER, timestamp INTEGER, key TEXT, value BLOB, headers TEXT, uid TEXT,
  sequence INTEGER, kind TEXT, header_uid TEXT, header_key TEXT, valid INTEGER, source_topic TEXT, source_partition INTEGER,
  source_offset INTEGER, source_attempts INTEGER, PRIMARY KEY(topic, partition, offset)) WITHOUT ROWID;
-- Committed offsets of groups: seen between `before` and `after`, by Kafka's admin client.
CREATE TABLE samples(id INTEGER PRIMARY KEY, consumer_group TEXT, topic TEXT, partition INTEGER, offset INTEGER, metadata TEXT,
  before INTEGER, after INTEGER);
-- Offsets beyond a sample's offset that its metadata marks as complete.
CREATE TABLE completed(sample INTEGER, first INTEGER, next INTEGER);
CREATE TABLE signals(pid INTEGER, name TEXT, at INTEGER);
CREATE TABLE faults(kind TEXT, target TEXT, began INTEGER, ended INTEGER);
