# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require_relative "../../../../examples/demo/journal"
require_relative "../../../../examples/demo/report"

# A check that can't fail is worth nothing: each kind of fault, put into journals that were clean, must turn it red.
class ReportTest < Penstock::TestCase
  KILLED_AT_NS = 2_000_000_000

  def setup
    @folder = Dir.mktmpdir("demo-report")
  end

  def teardown
    FileUtils.remove_entry(@folder)
  end

  test "clean journals are right: everything produced, processed once, in order" do
    report = clean_run

    assert_equal [], report.problems
    assert_equal [8, 8, 0, 0, 0], report.to_h.values_at(:produced, :processed, :lost, :duplicated, :out_of_order)
  end

  test "an order that no consumer finished is lost" do
    assert_problem("1 lost", clean_run { |consumers| consumers[0].delete_at(2) })
  end

  test "an order finished twice without a kill is unexplained" do
    report = clean_run { |consumers| consumers[1] << done(3, 0, 3, 900) }

    assert_problem("1 duplicated, and not explained by a kill", report)
  end

  test "an order finished twice is explained by a refused commit, but not below the last accepted one" do
    twice = lambda do |offset|
      FileUtils.rm_f(Dir[File.join(@folder, "*")])
      clean_run { |first, second| first.push([:committed, 0, offset], [:refused, 0]) && second << done(3, 0, 3, 900) }
    end

    assert_equal [], twice[2].problems
    assert_problem("1 duplicated, and not explained by a kill", twice[4])
  end

  test "an order that began before the one below it had ended is out of order" do
    report = clean_run { |consumers| consumers[0][2] = done(2, 0, 2, 15) }

    assert_problem("1 out of order", report)
  end

  test "two orders swapped in one process's journal are out of order" do
    report = clean_run { |consumers| consumers[0][1], consumers[0][2] = consumers[0].values_at(2, 1) }

    assert_problem("1 out of order", report)
  end

  test "an order that was never produced is foreign, and so is one at another place" do
    invented = clean_run { |consumers| consumers[0] << done(99, 0, 99, 900) }
    assert_problem("1 processed, but not produced at that partition and offset", invented)
  end

  test "an order processed at another offset than it was produced at is foreign" do
    moved = clean_run { |consumers| consumers[0][3] = done(3, 0, 4, 40) }

    assert_problem("1 processed, but not produced at that partition and offset", moved)
  end

  test "a line dropped from a journal is missing, anywhere in the journal" do
    report = clean_run { |_| nil }
    assert_predicate report, :right?
    edit("consumer-1") { |lines| lines.delete_at(2) }

    assert_problem("1 lost", reread)
    assert_problem("1 lines of the journals missing", reread)
  end

  test "a line dropped from the producer's journal leaves an order that nobody produced" do
    clean_run
    edit("producer-1") { |lines| lines.delete_at(2) }

    assert_problem("7 of 8 orders were produced", reread)
    assert_problem("1 processed, but not produced at that partition and offset", reread)
  end

  test "a line doubled in the file is a duplicate and in the wrong place" do
    clean_run
    edit("consumer-1") { |lines| lines.insert(2, lines[1]) }

    assert_problem("duplicated, and not explained by a kill", reread)
    assert_problem("lines of the journals missing", reread)
  end

  test "two lines swapped in the file are in the wrong place" do
    clean_run
    edit("consumer-1") { |lines| lines[1], lines[2] = lines.values_at(2, 1) }

    assert_problem("1 out of order", reread)
    assert_problem("lines of the journals missing", reread)
  end

  test "a line with one changed character is damaged and its order isn't counted" do
    clean_run
    edit("consumer-1") { |lines| lines[2] = lines[2].sub("done 2 ", "done 3 ") }

    assert_problem("1 lines of the journals damaged", reread)
    assert_problem("1 lost", reread)
  end

  test "a line cut short at the end of a file is damaged" do
    clean_run
    path = path_of("consumer-2")
    File.write(path, File.read(path)[0..-4])

    assert_problem("1 lines of the journals damaged", reread)
  end

  test "a journal without an end is reported if its process wasn't killed" do
    clean_run
    edit("consumer-2", &:pop)

    assert_problem("consumer-2 wrote no end in its journal", reread)
  end

  test "an order that a killed process had just finished may be finished again by the next" do
    report = run_with_kill(finished_ms: 1_900)

    assert_equal [], report.problems
    assert_equal 2, report.to_h[:duplicated]
  end

  test "an order that a killed process had finished long before its kill may not be finished again" do
    assert_problem("1 duplicated, and not explained by a kill", run_with_kill(finished_ms: 100))
  end

  test "a second run by a live process is unexplained, also when another process was killed" do
    report = run_with_kill(finished_ms: 1_900) { |consumers| consumers[1] << done(0, 0, 0, 2_600) }

    assert_problem("duplicated, and not explained by a kill", report)
  end

  test "an order whose delivery is unknown is reported" do
    clean_run
    journal = Demo::Journal.new(path_of("producer-2"))
    journal.write("undelivered", "9", "timed_out")
    journal.close

    assert_problem("1 not delivered, or unknown", reread)
  end

  test "a process that ended with another exit code than 0 is reported" do
    clean_run
    journal = Demo::Journal.new(path_of("more"))
    journal.write("exited", "consumer-2", "2")
    journal.close

    assert_problem("consumer-2 ended with exit code 2", reread)
  end

  test "a run that should produce nothing is not right" do
    report = Demo::Report.of(@folder)

    refute_predicate report, :right?
  end

  test "the percentiles are those of the first runs, in milliseconds from the producer's call" do
    latency = clean_run.to_h[:latency_ms]

    assert_equal [25.0, 45.0], latency.values_at(:p50, :p99)
  end

  private

  # Orders 0..3 on partition 0 by consumer-1, 4..7 on partition 1 by consumer-2; each takes 5 ms, one begins each 10 ms.
  def clean_run
    consumers = [
      (0..3).map { |id| done(id, 0, id, (id * 10) + 10) },
      (4..7).map { |id| done(id, 1, id - 4, ((id - 4) * 10) + 10) }
    ]
    yield consumers if block_given?
    write_all(consumers, [])
  end

  # consumer-1 is killed at 2 s; consumer-2 repeats its last order and continues.
  def run_with_kill(finished_ms:)
    first = [*(0..2).map { |id| done(id, 0, id, 10 + (id * 10)) }, done(3, 0, 3, finished_ms), done(4, 0, 4, 1_990)]
    second = [done(3, 0, 3, 2_500), *(4..7).map { |id| done(id, 0, id, 2_500 + (id * 10)) }]
    consumers = [first, second]
    yield consumers if block_given?
    write_all(consumers, ["consumer-1"], produced: (0..7).map { |id| [id, 0, id, 0] })
  end

  def done(id, partition, offset, began_ms)
    [id, partition, offset, began_ms * 1_000_000, (began_ms + 5) * 1_000_000]
  end

  def write_all(consumers, killed, produced: nil)
    produced ||= (0..7).map { |id| [id, id / 4, id % 4, 0] }
    write("demo", [["run", 8, 500], *killed.map { |name| ["killed", name, KILLED_AT_NS] }])
    write("producer-1", produced.map { |fields| ["produced", *fields] })
    consumers.each_with_index do |runs, index|
      name = "consumer-#{index + 1}"
      write(name, runs.map { |fields| fields.first.is_a?(Symbol) ? fields : ["done", *fields] }, ended: !killed.include?(name))
    end
    reread
  end

  def write(name, events, ended: true)
    journal = Demo::Journal.new(path_of(name))
    events.each { |event| journal.write(*event) }
    ended ? journal.close : journal.instance_variable_get(:@file).close
  end

  def edit(name)
    lines = File.readlines(path_of(name))
    yield lines
    File.write(path_of(name), lines.join)
  end

  def path_of(name)
    File.join(@folder, "#{name}.journal")
  end

  def reread
    Demo::Report.of(@folder)
  end

  def assert_problem(text, report)
    refute_predicate report, :right?
    assert_includes report.problems.join("; "), text
  end
end
