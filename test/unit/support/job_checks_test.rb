# frozen_string_literal: true

require "test_helper"
require "json"
require "tmpdir"
require_relative "../../support/fault_runs/checker"
require_relative "../../support/fault_runs/job_checks"
require_relative "../../support/synthetic_journal"

# Tests the checks of fault runs with jobs: a run without errors raises no alarm, and each single wrong line does.
class JobChecksTest < Penstock::TestCase
  FaultRuns = Penstock::TestSupport::FaultRuns
  MS = 1_000
  KINDS = %w[ok retried discarded poison poison:gone kill:1 kill ok].freeze

  # Jobs in one partition, performed by one process. A test changes some lines before they are loaded.
  class Synthetic
    attr_accessor :log, :dead, :journal, :samples, :intents

    def initialize(kinds = KINDS)
      kinds = kinds.each.with_index(1)
      @intents = kinds.flat_map { |kind, number|
        [[number, "intent", "j#{number}", "t", nil, number, kind], [number, "ack", "j#{number}", 0, number - 1]]
      }
      @log = kinds.map { |kind, number| ["t", 0, number - 1, number, nil, payload(number, kind), []] }
      @dead = kinds.filter_map { |kind, number| letter(number, kind) if kind == "kill" || kind.start_with?("poison") }
      @journal = [[50, "assign", "t", 0, 0]]
      kinds.each { |kind, number| perform(number, kind, 100 + (number * 10)) }
      @samples = [[40, 0, ""], [900, @log.size, ""]]
    end

    def payload(number, kind, seen: number, id: "j#{number}")
      JSON.generate("job_class" => "X", "job_id" => id, "arguments" => [number, kind, "more"],
        "penstock_current" => {"Current" => [{"number" => seen}]})
    end

    def letter(number, kind, reason: (kind == "kill") ? "quarantined" : "failed")
      headers = {"source_topic" => "t", "source_partition" => "0", "source_offset" => (number - 1).to_s, "source_attempts" => "3",
                 "penstock_reason" => reason}
      ["dead", 0, number, number, nil, payload(number, kind), headers.to_a]
    end

    def perform(number, kind, at)
      runs = {"retried" => [1, 2, 3], "poison" => [1, 1, 1], "poison:gone" => [], "kill" => []}.fetch(kind, [1])
      runs.each.with_index do |executions, index|
        id = (number * 10) + index
        offset = (kind == "retried" && index.positive?) ? again(number, kind) : number - 1
        @journal.push(begun(number, id, offset, executions, at + index), [at + index, (kind == "poison") ? "fail" : "end", id])
      end
    end

    # @return [Integer] the offset of the record with which a job is enqueued again
    def again(number, kind)
      @log.push(["t", 0, @log.size, number, nil, payload(number, kind), []]).size - 1
    end

    def begun(number, id, offset, executions, at)
      [at, "begin", id, "t", 0, offset, executions, nil, nil, number, "j#{number}", number, number, "worker", nil, offset, offset]
    end

    def database(dir)
      database = FaultRuns::Database.new
      database.add_application(name: "app", consumer_group: "g", topic: "t", lane: "message", offsets: "automatic", failing: true,
        transactional: false, out_topic: nil, dead_topic: "dead", attempts: 3, commit_us: 5_000_000)
      {"producer" => @intents, "app" => @journal}.each.with_index(1) do |(name, lines), pid|
        path = Penstock::TestSupport::SyntheticJournal.write(dir, name, pid, lines)
        database.add_journal(path, ending: "exit 0", ended: 1_000 * MS)
      end
      (@log + @dead).each { |row| database.add_record(*row) }
      @samples.each { |at, offset, metadata| database.add_sample((at - 1) * MS, at * MS, "g", "t", 0, offset, metadata) }
      database.finish
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

  def with_database
    database = @run.database(@dir)
    yield database
  ensure
    database&.close
  end

  def violations = with_database { |database| FaultRuns::JobChecks.new(database).violations }

  def invariants
    with_database { |database| FaultRuns::Checker.new(database, without: %w[i3 i5_doubled_by_producers]).violations.map(&:to_s) }
  end

  def assert_alarm(check, pattern)
    assert_match pattern, violations.fetch(check).join("\n")
  end

  test "a run without errors raises no alarm, and its figures count kinds, letters and ids" do
    assert_empty violations
    assert_empty invariants
    figures = with_database { |database| FaultRuns::JobChecks.new(database).figures }
    dead = {"poison" => 1, "poison:gone" => 1, "kill" => 1}
    assert_equal({jobs: KINDS.tally, dead: dead, ids: 8, killed: 0, copies: 0}, figures)
  end

  test "a job that was acknowledged and has neither ended nor a letter; a retry that is missing" do
    @run.journal.reject! { |line| line[1] == "end" && line[2] == 10 }
    @run.dead.reject! { |row| row[5].include?("poison:gone") }
    @run.journal.reject! { |line| line[2] == 22 }
    @run.journal.reject! { |line| line[2] == 30 }
    ["1 (ok)", "2 (retried)", "3 (discarded)", "5 (poison:gone)"].each do |job|
      assert_alarm "i1_outcome", /job #{Regexp.escape(job)}/
    end
  end

  test "two ids of a job, two records of one" do
    @run.log.push(["t", 0, 90, 1, nil, @run.payload(1, "ok", id: "other"), []])
    @run.log.push(["t", 0, 91, 1, nil, @run.payload(8, "ok"), []])
    assert_alarm "i2_ids", /job 1 has 2 ids/
    assert_alarm "i5_enqueued_twice", /job 8 \(ok\) is 2 times/
  end

  test "attributes of another job: where it is enqueued, and where it is performed" do
    @run.log[0][5] = @run.payload(1, "ok", seen: 8)
    assert_alarm "i2_attributes", /job 1 was enqueued with the attributes of 8/
    @run = Synthetic.new
    @run.journal.find { |line| line[1] == "begin" && line[2] == 80 }[9] = 1
    assert_empty violations
    assert_match(/I2 WRONG CONTENT.*header 1 instead of 8/, invariants.join)
  end

  test "a job that ran again after a commit had marked it as complete" do
    @run.samples[0] = [40, 0, Penstock::TestSupport::ReferenceEnvelope.encode(base: 0, topic: "t", completed: [[7, 8]])]
    assert_alarm "i5_run_though_complete", /t\/0 offset 7 ran/
    @run.samples[0][0] = 60 # after the process had got the partition
    assert_empty violations
  end

  test "a job that kills once is no dead letter, and one that always kills is quarantined" do
    @run.dead.push(@run.letter(6, "kill:1"))
    assert_alarm "i12_killer", /job 6 \(kill:1\) is a dead letter/
    @run.dead.replace(@run.dead.first(2).push(@run.letter(7, "kill", reason: "failed")))
    assert_alarm "i12_killer", /job 7 \(kill\) is a dead letter/
  end

  test "a delayed job that arrives early, that is lost, or whose copies have different ids" do
    @run = Synthetic.new(%w[due:1 due:2])
    @run.log.each { |row| row[6] = [["penstock_delay_id", "a-#{row[2]}"]] }
    assert_empty violations
    @run.log[1][3] = 1
    assert_alarm "i3_early", /job 2 was due at 2 and in its queue at 1/
    @run.log.push(["t", 0, 90, 5, nil, @run.log[0][5], [["penstock_delay_id", "b"]]])
    assert_alarm "i5_moved_twice", /j1 has the delay ids/
    @run.journal.reject! { |line| line[1] == "end" && line[2] == 10 }
    assert_alarm "i1_outcome", /job 1 \(due:1\)/
  end
end
