# frozen_string_literal: true

require "test_helper"
require "support/outbox"

# Relays that are killed at any point, one after another, with a real SQLite file, while messages are enqueued, refused, and
# acknowledged late. The delivered messages are compared with the enqueued ones.
class OutboxCrashTest < Penstock::TestCase
  include Penstock::TestSupport::Outbox

  extend Penstock::TestSupport::Outbox::OnSQLite

  SEEDS = 12
  KEYS = %w[a b c].freeze

  # The process ends here. Not a StandardError: nothing in the relay may catch it.
  class Killed < Exception; end # rubocop:disable Lint/InheritException -- see above

  # Kills at the n-th of all points of a run, once: statements, sends and waits alike.
  class Ambush
    attr_reader :points

    def initialize
      @points = 0
      @at = nil
    end

    def after(count) = @at = @points + count

    def lift = @at = nil

    def point
      @points += 1
      return unless @at && @points >= @at

      @at = nil
      raise Killed
    end
  end

  test "wherever a relay is killed, nothing is lost, each key's order is kept, and duplicates have the same outbox id" do
    kills = doubles = 0
    SEEDS.times do |seed|
      ActiveRecord::Base.connection.execute("DELETE FROM penstock_outbox")
      run = play(Random.new(seed))
      kills += run[:kills]
      doubles += @log.stored.size - @log.stored.uniq.size
      check(seed, run)
    end

    assert_operator kills, :>, SEEDS, "the ambush has to be met"
    assert_operator doubles, :>, 0
  end

  private

  def play(random)
    @ambush = Ambush.new
    @log = log(random)
    use(batch_size: random.rand(1..6), on_refusal: %i[park set_aside][random.rand(2)], max_attempts: 2,
      after_delivery: %i[delete keep][random.rand(2)])
    run = {put: [], kills: 0}
    10.times { step(random, run) }
    calm(run)
    run
  end

  # Refuses some messages, a few each time; some are stored although the relay gets no acknowledgement.
  def log(random)
    Log.new do |message|
      @ambush.point
      next refused if message[:payload].end_with?("!") && random.rand < 0.7 && !@calm
      next refused(:msg_timed_out) if random.rand < 0.05 && !@calm
    end.tap { |log| log.at_send = ->(_message) { @ambush.point } }
  end

  def step(random, run)
    random.rand(0..5).times { run[:put] << put_one(random, run) }
    @ambush.after(random.rand(1..25)) if random.rand < 0.8
    killable { relay.drain }
  rescue Killed
    run[:kills] += 1
  rescue Penstock::KafkaError
    nil
  ensure
    @clock.pass(random.rand(0..3_000))
  end

  def put_one(random, run)
    key = KEYS.sample(random: random)
    payload = "#{key}#{run[:put].size}#{"!" if random.rand < 0.1}"
    put(payload, key: key)
    payload
  end

  # Every statement is a point where the process may end; the connection is closed like that of a dead process.
  def killable
    connection = ActiveRecord::Base.connection
    ambush = @ambush
    executing = connection.method(:log)
    connection.define_singleton_method(:log) do |*arguments, **options, &block|
      ambush.point
      executing.call(*arguments, **options, &block)
    end
    yield
  ensure
    connection.singleton_class.remove_method(:log)
    ActiveRecord::Base.connection_pool.disconnect!
    ambush.lift
  end

  # In the end everything works, and rows that were set aside are sent too.
  def calm(run)
    @calm = true
    run[:aside] = @database.rows.where(state: "aside").pluck(:payload)
    @store.retry(@database.rows.where(state: "aside").pluck(:id))
    5.times do
      @clock.pass(400_000)
      relay.drain
    end
  ensure
    @calm = false
  end

  def check(seed, run)
    arrived = @log.stored.map { |message| message[:payload] }
    ids = @log.stored.group_by { |message| message[:payload] }
      .transform_values { |list| list.map { |message| message[:headers]["penstock-outbox-id"] }.uniq.size }

    assert_equal run[:put].sort, arrived.uniq.sort, "seed #{seed}: lost"
    assert_equal [1], ids.values.uniq, "seed #{seed}: a double has another id" if arrived.any?
    assert_empty @database.rows.where.not(state: "sent").pluck(:payload, :state), "seed #{seed}: left"
    KEYS.each { |key| check_order(seed, key, run) }
  end

  # A key's records either continue in order, or restart at one that was sent before: none arrives before its predecessor.
  def check_order(seed, key, run)
    put = run[:put].select { |payload| payload.start_with?(key) }
    sent = @log.stored.map { |message| message[:payload] }.select { |payload| payload.start_with?(key) }
    seen = []
    sent.each do |payload|
      before = put.take_while { |other| other != payload } - set_aside(run)
      missing = before - seen
      assert_empty missing, "seed #{seed}: #{payload} before #{missing}; #{sent}" unless set_aside(run).include?(payload)
      seen |= [payload]
    end
  end

  def set_aside(run)
    run[:aside] | run[:put].select { |payload| payload.end_with?("!") && @settings.on_refusal == "set_aside" }
  end
end
