# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require_relative "../../support/fault_runs/checker"
require_relative "../../support/synthetic_journal"

# Tests the checker of fault runs itself: a run without errors raises no alarm, and each single wrong line does.
class FaultCheckerTest < Penstock::TestCase
  FaultRuns = Penstock::TestSupport::FaultRuns
  Journal = FaultRuns::Journal
  MS = 1_000

  # A run of twelve records of three keys in two partitions, consumed by two processes one after the other. The lines are
  # written here, not by an application; a test changes some before they are loaded.
  class Synthetic
    RECORDS = Array.new(12) do |index|
      key = "k#{index % 3}"
      {uid: "u#{index}", key: key, sequence: (index / 3) + 1, partition: (index % 3 == 2) ? 1 : 0,
       kind: (index == 7) ? "poison" : "ok"}
    end
    OFFSETS = Hash.new(-1)
    PLACED = RECORDS.map { |record| record.merge(offset: OFFSETS[record[:partition]] += 1) }.freeze

    attr_accessor :produced, :first, :second, :log, :dead, :samples, :application, :endings, :signals, :faults

    def initialize(lane: "key")
      @application = {name: "app", consumer_group: "g", topic: "t", lane: lane, offsets: "marks", failing: true,
                      transactional: false, out_topic: nil, dead_topic: "dead", attempts: 3, commit_us: 5_000_000}
      @produced = PLACED.flat_map.with_index { |record, index| produce(record, index) }
      @log = PLACED.map { |record| logged(record) }
      @first, @second = journals
      @dead = [dead_letter(PLACED[7])]
      @samples = [[300, 0, 3], [300, 1, 2], [900, 0, 8], [900, 1, 4]]
      @endings = {first: ["exit 0", 500], second: ["exit 0", 1_000]}
      @signals = []
      @faults = []
    end

    def produce(record, index)
      [[index, "intent", record[:uid], "t", *record.values_at(:key, :sequence, :kind)],
        [index + 1, "ack", record[:uid], *record.values_at(:partition, :offset)]]
    end

    def logged(record)
      message = FaultRuns::Record.make(record[:uid], record[:key], record[:sequence], kind: record[:kind])
      ["t", record[:partition], record[:offset], 0, message[:key], message[:payload], message[:headers].to_a]
    end

    def dead_letter(record)
      _topic, _partition, _offset, time, key, value, headers = logged(record)
      ["dead", 0, 0, time, key, value, [*headers, *{"source_topic" => "t", "source_partition" => record[:partition].to_s,
                                                    "source_offset" => record[:offset].to_s, "source_attempts" => "3"}.to_a]]
    end

    # The first half is consumed by one process, the rest by another.
    def journals
      number = 0
      halves = [[PLACED.first(6), 100, "first"], [PLACED.drop(6), 600, "second"]].map do |records, began, _name|
        lines = [[began - 10, "assign", "t", 0, 0], [began - 10, "assign", "t", 1, 0]]
        lines + records.flat_map.with_index { |record, index| run(record, number += 1, began + (index * 10)) }
      end
      halves.each_with_index { |lines, index| lines << [400 + (index * 500), "stopped", 0] }
    end

    # Failed records are tried three times and then dead-lettered.
    def run(record, number, at)
      lines = [begin_line(record, number, at, 1)]
      if record[:kind] == "ok"
        return lines.push([at + 5, "end", number],
          [at + 6, "mark", "t", record[:partition], record[:offset], true])
      end

      lines.push([at + 1, "fail", number, "Failure", "poison"],
        [at + 5, "letter", "t", record[:partition], record[:offset], 3, "dead"])
    end

    def begin_line(record, number, at, attempt)
      [at, "begin", number, "t", record[:partition], record[:offset], attempt, *record.values_at(:key, :key, :uid, :uid),
        record[:sequence], record[:uid], "worker", "c", record[:offset], record[:offset]]
    end

    # Lines of one record in a journal, by the number of its run.
    def number_of(uid) = (first + second).find { |line| line[1] == "begin" && line[10] == uid }[2]

    def database(dir)
      database = FaultRuns::Database.new
      database.add_application(retries: [], **application)
      write(dir, "producer", produced)
      {first: first, second: second}.each { |name, lines| write(dir, "app", lines, name) }
      database.add_journal(File.join(dir, "producer-1.journal"), ending: "exit 0", ended: 50 * MS)
      [:first, :second].each_with_index do |name, index|
        ending, ended = endings[name]
        database.add_journal(File.join(dir, "app-#{index + 2}.journal"), ending: ending, ended: ended * MS)
      end
      (log + dead).each { |row| database.add_record(*row) }
      samples.each { |at, *sample| database.add_sample((at - 1) * MS, at * MS, "g", "t", *sample, *("" if sample.size < 3)) }
      signals.each { |pid, name, at| database.add_signal(pid, name, at * MS) }
      faults.each { |kind, from, till| database.add_fault(kind, "", from * MS, till * MS) }
      database.finish
    end

    def write(dir, application, lines, which = nil, &)
      pid = {nil => 1, :first => 2, :second => 3}.fetch(which)
      Penstock::TestSupport::SyntheticJournal.write(dir, application, pid, lines, member: which.to_s, &)
    end
  end

  def setup
    super
    @run = Synthetic.new
    @dir = Dir.mktmpdir
  end

  def teardown
    FileUtils.rm_rf(@dir)
    super
  end

  def check(**options)
    database = @run.database(@dir)
    FaultRuns::Checker.new(database, **options).violations.map { |one| [one.check, one.what] }
  ensure
    database&.close
  end

  def assert_alarm(check, pattern, **options)
    found = check(**options)
    assert_includes found.map(&:first), check, found.inspect
    assert_match pattern, found.assoc(check).last
  end

  def record(uid) = Synthetic::PLACED.find { |one| one[:uid] == uid }

  # Runs it again in the second process.
  def again(uid, at:, in_journal: @run.second)
    in_journal.push(@run.begin_line(record(uid), 900, at, 1), [at + 5, "end", 900])
  end

  test "a run without errors raises no alarm" do
    assert_empty check
    @run = Synthetic.new(lane: "whole")
    assert_empty check
  end

  test "a line of a journal may contain any bytes, and a changed or cut line is detected" do
    fields = ["a\tb", "~", nil, "100 %", "\xff\n".b, ""]
    line = Journal.line(7, 8, "kind", fields)
    parsed = Journal.parse(line)
    assert_equal [7, 8, "kind", fields.map { |field| field&.b }], [*parsed.first(3), parsed.fields.map { |field| field&.b }]
    assert_equal 1, line.count("\n")
    assert_nil Journal.parse(line.sub("kind", "kimd"))
    assert_nil Journal.parse(line.chomp)
  end

  test "I1: a record that never ended is lost: skipped by a commit, or not delivered" do
    number = @run.number_of("u9")
    @run.second.reject! { |line| line[2] == number && %w[begin end].include?(line[1]) }
    assert_alarm "i1_lost", /u9.*skipped by commit/
    @run.samples.reject! { |at, *| at == 900 }
    assert_alarm "i1_lost", /u9.*not delivered/
  end

  test "I1: a record that was acknowledged but isn't in the log" do
    @run.log.reject! { |row| row[5].start_with?("u4 ") }
    assert_alarm "i1_lost_by_brokers", /u4 was acknowledged/
  end

  test "I1: an acknowledgement without an offset needs its record, anywhere in the partition" do
    @run.produced.find { |line| line[1..2] == ["ack", "u4"] }[4] = -1_001
    assert_empty check
    @run.log.reject! { |row| row[5].start_with?("u4 ") }
    assert_alarm "i1_lost_by_brokers", /u4 was acknowledged/
  end

  test "I2: a record that was never produced, or that was reported as failed" do
    @run.produced.reject! { |line| line[2] == "u3" }
    assert_alarm "i2_invented_by_producers", /u3.*never produced/
    @run.produced.push([3, "intent", "u3", "t", "k0", 2, "ok"], [4, "fail_produce", "u3", "code"])
    assert_alarm "i2_invented_by_producers", /u3.*certainly failed/
  end

  test "I2: one wrong key, header or payload is detected, in any attempt" do
    {7 => /key k0 instead of k1/, 8 => /header/, 9 => /header/, 10 => /payload of/,
     12 => /deserializer saw/}.each do |column, words|
      @run = Synthetic.new
      line = @run.second.find { |one| one[1] == "begin" && one[10] == "u10" }
      line[column] = (column == 7) ? "k0" : "u0"
      assert_alarm "i2_wrong_content", words
    end
  end

  test "I3: two records of a key that are swapped, in the log or in time" do
    @run.log.values_at(0, 3).then do |one, other|
      one[5], other[5] = other[5], one[5]
      one[6], other[6] = other[6], one[6]
    end
    assert_alarm "i3_order_of_producers", /number 1 of k0 after 2/
    @run = Synthetic.new
    numbers = %w[u6 u9].map { |uid| @run.number_of(uid) }
    lines = @run.second.select { |line| %w[begin end].include?(line[1]) && numbers.include?(line[2]) }
    times = lines.map(&:first)
    lines.rotate(2).zip(times) { |line, at| line[0] = at }
    assert_alarm "i3_order", /began .* before an earlier record had ended/
  end

  test "I4: two records of a key at the same time, in one process and in two" do
    @run.second.find { |line| line[1] == "end" && line[2] == @run.number_of("u6") }[0] += 40
    assert_alarm "i4_overlap", /in the same process/
    @run = Synthetic.new
    @run.first.push(@run.begin_line(record("u0"), 901, 590, 1), [640, "end", 901])
    assert_alarm "i4_overlap", /in another process that owned/
    @run.first.push([700, "revoked", "t", 0, 1])
    refute_includes check.map(&:first), "i4_overlap"
  end

  test "I5: a record that ended twice needs a reason: a crash since the last commit, a retry, a lost partition" do
    again("u6", at: 800)
    assert_alarm "i5_unexplained", /ended again/
    @run = Synthetic.new
    @run.samples.reject! { |at, *| at == 300 }
    again("u3", at: 605)
    @run.endings[:first] = ["signal KILL", 450]
    refute_includes check.map(&:first), "i5_unexplained"
    assert_alarm "i5_not_allowed", /crash/, allowed: []
  end

  test "I5: records committed before the partition was taken over must not run again, in any case" do
    again("u3", at: 605)
    @run.endings[:first] = ["signal KILL", 450]
    assert_alarm "i5_run_though_committed", /after offset 3/
  end

  test "I5: a record that is twice in the log" do
    @run.log.push([*@run.log[0].first(2), 99, *@run.log[0].drop(3)])
    assert_alarm "i5_doubled_by_producers", /u0 is 2 times/
  end

  test "I6: an offset that is committed before everything below it is complete" do
    @run.samples.push([620, 0, 7])
    assert_alarm "i6_committed_too_early", /was committed before it was done/
  end

  test "I6: metadata that list too much as complete" do
    envelope = Penstock::TestSupport::ReferenceEnvelope.encode(base: 3, topic: "t", completed: [[5, 7]])
    @run.samples.push([310, 0, 3, envelope])
    assert_alarm "i6_complete_too_early", /was said to be complete beyond 3/
  end

  test "I7: a committed offset that moves backwards" do
    @run.samples.push([950, 0, 2])
    assert_alarm "i7_committed_back", /2 was committed after 8/
  end

  test "I7: an older offset that a new coordinator returns for a moment doesn't count as committed" do
    @run.samples.push([950, 0, 2], [980, 0, 8])
    assert_alarm "i7_committed_back", /2 was committed after 8/
    @run.faults.push(["broker restarts", 900, 940])
    assert_empty check
    @run.second.push([945, "commit", "t", 0, 2])
    assert_alarm "i7_committed_back", /2 was committed after 8/
  end

  test "I8: a copy that is missing, duplicated, or out of order" do
    @run.application.merge!(out_topic: "out", dead_topic: "dead", transactional: true)
    copies = @run.log.reject { |row| row[5].include?(" poison ") }.map { |row| ["out", *row.drop(1)] }
    @run.log.concat(copies)
    assert_empty check
    @run.log.delete(copies[2])
    assert_alarm "i8_copies", /u2.*copied 0 times/
    @run.log.push(copies[2], [*copies[1].first(2), 50, *copies[1].drop(3)])
    assert_alarm "i8_copies", /copied 2 times/
    @run.log.reject! { |row| row[2] == 50 }
    copies[0][2], copies[3][2] = copies[3][2], copies[0][2]
    assert_alarm "i8_order_of_copies", /copy of number/
  end

  test "I12: poison without a letter, a letter with wrong bytes or attempts, a healthy record among the letters" do
    letter = @run.dead.first
    @run.dead.clear
    assert_alarm "i12_letters", /poison without a dead letter/
    @run.dead.push([*letter.first(5), "#{letter[5]}!", letter[6]])
    assert_alarm "i12_letters", /other bytes/
    @run.dead.replace([[*letter.first(6), letter[6].map { |name, value| [name, (name == "source_attempts") ? "2" : value] }]])
    assert_alarm "i12_letters", /says 2 attempts/
    @run.dead.replace([letter, ["dead", 0, 1, *@run.dead_letter(record("u0")).drop(3)]])
    assert_alarm "i12_healthy_dead", /u0/
  end

  test "a journal with a gap is no evidence" do
    @run.define_singleton_method(:write) do |dir, application, lines, which = nil|
      super(dir, application, lines, which) { |text| (which == :first) ? text.tap { |rows| rows.delete_at(5) } : text }
    end
    assert_alarm "journal", /1 are missing/
  end

  test "the time for which a partition made no progress" do
    database = @run.database(@dir)
    stall = FaultRuns::Checker.new(database).stall("app")
    assert_in_delta 0.47, stall[:seconds], 0.1
    assert_match(/\At\/[01]\z/, stall[:partition])
  ensure
    database&.close
  end
end
