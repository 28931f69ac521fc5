# frozen_string_literal: true

require "test_helper"
require "support/sim/campaign"

# Tests how the simulator's checker is put together.
class SimCheckerTest < Penstock::TestCase
  Checker = Penstock::TestSupport::Sim::Checker

  def test_no_two_parts_of_the_checker_define_the_same_method
    parts = [Checker, *Checker.included_modules.select { |part| part.name&.start_with?("Penstock") }]
    methods = parts.flat_map { |part| part.instance_methods(false) + part.private_instance_methods(false) - [:initialize] }
    assert_empty methods.tally.select { |_name, count| count > 1 }, "one of them hides the other: a rule is never checked"
  end

  Bad = Struct.new(:uid, :offset, :key, :bad, :place, :paused, :gone) do
    def open? = !gone
    def done = false
    def record = self
    def origin = self
  end
  World = Struct.new(:now) do
    def timeline = self
    def group = self
    def script = self
    def bad?(truth) = truth.bad
    def owner(_place) = self
    def connection_of(driver) = driver
    def instance = :process
  end

  # @return [Checker] whose process holds the topic until 500 ms
  def holding(truths, mode: :key, partitioner: false, ends: 500)
    world = World.new(100)
    plan = Penstock::TestSupport::Sim::Plan.new(faults: [], mode: mode, partitioner: partitioner)
    Checker.allocate.tap do |checker|
      parts = {truths: truths, of_place: truths.group_by(&:place), plan: plan, world: world}
      parts.each { |name, value| checker.instance_variable_set(:"@#{name}", value) }
      checker.__send__(:seen_of, :process, "t").ends = ends
    end
  end

  def bad(offset, key = "a", bad: true, place: ["t", 0], gone: false) = Bad.new(offset, offset, key, bad, place, false, gone)

  def test_the_patience_is_extended_only_where_nothing_but_bad_records_can_be_tried
    assert_equal 500, holding([bad(3), bad(4, bad: false)]).held_until, "a good record behind a bad one of its key"
    assert_nil holding([bad(3), bad(4, "b", bad: false)]).held_until, "a good record of another key can be tried"
    assert_nil holding([bad(3, bad: false), bad(4)]).held_until, "the good record comes first"
    assert_nil holding([bad(3), bad(2, bad: false, place: ["t", 1])]).held_until, "so can one of another partition"
    other_key = [bad(3), bad(4, "b", bad: false)]
    assert_equal 500, holding(other_key, mode: :whole).held_until, "in order, all records follow each other"
    assert_equal 500, holding([bad(3, gone: true), bad(4, bad: false)]).held_until, "its owner has what retention has deleted"
    assert_equal 500, holding(other_key, partitioner: "consistent").held_until
  end

  def test_the_patience_is_not_extended_without_a_hold_or_after_its_end
    assert_nil holding([bad(3)], ends: nil).held_until
    assert_nil holding([bad(3)], ends: 99).held_until
    assert_nil holding([]).held_until
  end

  # @return [String, nil] the violation that an error of that type causes
  def violated_by(error, type = "consumer.consume.error")
    process = Struct.new(:name).new("p0.1")
    holding([]).tap { |checker| checker.event(process, "error.occurred", {type: type, error: error}) }.violation&.to_s
  end

  def test_an_error_of_wrong_code_is_not_taken_for_a_failure_of_the_users
    assert_match(/I11: .*p0.1: consumer.consume.error: NoMethodError: undefined/, violated_by(NoMethodError.new("undefined")))
    assert_nil violated_by(Penstock::TestSupport::Sim::Script::Failure.new("record 3"))
    assert_match(/I11: .*IOError: broken/, violated_by(IOError.new("broken"), "connection.listener.fetch_loop.error"))
    assert_nil violated_by(IOError.new("simulated"), "connection.listener.fetch_loop.error")
  end
end
