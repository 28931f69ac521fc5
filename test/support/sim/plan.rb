# frozen_string_literal: true

require "json"
require_relative "aims"

module Penstock
  module TestSupport
    module Sim
      # The description of one simulated run, drawn from a number: shape of the group, load, and the faults with their
      # times. A plain value, so that a failing one can be made smaller and saved.
      class Plan
        # One fault, or one action of a user.
        Fault = Struct.new(:at, :kind, :who, :value) do
          def to_s = "#{at} ms #{kind} #{who}#{" #{value}" if value}"
        end

        # The possible faults, and how often each is drawn in relation to the others.
        FAULTS = {
          crash: 6, pause: 6, stop: 5, join: 3, shuffle: 8, cut: 4, commit: 10, metadata_limit: 1, unstable: 3, loading: 3,
          slow_loop: 4, repeat: 3, retention: 3, truncate: 1, recreate: 1, compact: 2, wall_jump: 1, connection: 2, seek: 3,
          hold: 2, release: 1, leader: 1, slow_network: 2, partition_error: 1, damage: 3, outage: 4, producer_full: 4,
          ambush: 14, coordinator: 4, read: 6
        }.freeze
        COMMIT_FATES = %i[lost unanswered unanswered unanswered late resent rebalance_in_progress
          coordinator_load_in_progress not_coordinator request_timed_out illegal_generation].freeze
        READ_FATES = %i[reset silent late twice damaged moved unsigned elsewhere].freeze
        KINDS = FAULTS.flat_map { |kind, weight| [kind] * weight }.freeze
        private_constant :FAULTS, :KINDS, :READ_FATES

        NUMBERS = %i[seed members partitions topics workers records horizon_ms commit_interval_ms max_messages drain_ms
          keys fail_percent poison_percent slow_percent mark_percent seek_percent shutdown_ms].freeze
        # More options of the route and the application. `letters`: failures before a record is dead-lettered;
        # `letter_topic` false: it is skipped instead; `killer`: number of the record that kills its process; `budget`:
        # bytes of a commit's metadata; `batch`: records that units wait for; `calls`: `eofed` and `tick`; `burst_ms`:
        # interval at which records arrive; `hops`: delays of delay topics, in which all messages wait; `tiers`: delays of
        # retry topics, after which `letter_topic` follows;
        # `connections`: how many a process has at first; `run_on`: :processes or :fibers; `pool_trouble`: how often its
        # processes die, or can't be reached; `quick`: nearly all units end at once; `late`: a thread of the user's
        # marks some of the records that units leave, long after these have ended; `forgets`: consumers gather over
        # calls, and an error loses "all" they held, or "some" of it; `to_end`: after a seek to an offset that retention
        # has deleted, librdkafka continues at the end of the log; `own_times`: records have times to live and delays of
        # their own in headers; `expired_topic`: where expired records are sent; `tick_in`: users wish
        # for a tick after that many ms; `batch_bytes`: as `batch`, in bytes;
        # `key_throttle`: limit of records of one key in an interval.
        FEATURES = {letters: nil, letter_topic: "dead", letter_trouble: 0, at_once: false, breaker: nil, killer: nil,
                    filter: nil, partitioner: false, expire_ms: nil, delay_ms: nil, throttle: nil, budget: nil, batch: nil,
                    calls: false, interruptible: false, burst_ms: 1, transactions: false, transaction_trouble: 0,
                    static: false, isolate: true, tiers: nil, connections: nil, run_on: nil, pool_trouble: 0,
                    time_limit: nil, quick: false, late: false, bad_every: nil, bad_keys: false, outage_share: 100,
                    outage_error: :refused, hold_limit: nil, calm: false, forgets: nil, to_end: false,
                    hops: nil, own_times: false, expired_topic: nil, tick_in: nil, batch_bytes: nil, key_throttle: nil}.freeze
        # `bad_every`: one record in that many always fails, with `bad_keys` all records of one key in that many;
        # `outage_share`: percent of the records that an outage concerns; `outage_error`: :refused (an error of an
        # outage) or :down (any other); `hold_limit`: longest hold of a breaker in ms; `calm`: there are no other
        # faults, so that everything has to be exact. UNFAIR: faults that excuse a record's second copy, or the loss of
        # knowledge about it.
        UNFAIR = %i[seek truncate recreate damage metadata_limit].freeze
        attr_reader :style, :mode, :manual, :faults, *NUMBERS, *FEATURES.keys

        # @param aim [String, nil] a row of the coverage that the plan should cause
        def self.draw(seed, aim: nil)
          values = Draw.new(seed).values
          new(**(aim ? Aims.take(values, aim) : values))
        end

        # @param text [String] as {#to_json} returns it
        def self.parse(text)
          hash = JSON.parse(text, symbolize_names: true)
          hash.delete(:why)
          faults = hash.delete(:faults).map { |at, kind, who, value| Fault.new(at, kind.to_sym, who, symbol(value)) }
          symbols = %i[style mode filter run_on outage_error].to_h { |name| [name, hash[name]&.to_sym] }.compact
          new(faults: faults, **hash, **symbols)
        end

        def self.symbol(value) = (value.is_a?(String) ? value.to_sym : value)

        def initialize(faults:, **values)
          @values = values = FEATURES.merge(values)
          @faults = faults
          values.each { |name, value| instance_variable_set(:"@#{name}", value) }
        end

        # @return [Plan] the same except for these values
        def with(**changes) = Plan.new(**@values, faults: @faults, **changes)

        # @return [Array] equal for plans whose applications are configured alike
        def configuration
          [@topics, @mode, @workers, @max_messages, @manual, @drain_ms, @commit_interval_ms, @letters, @letter_topic, @at_once,
            @breaker, !@killer.nil?, @filter, @partitioner, @expire_ms, @delay_ms, @throttle, @budget, @batch,
            @calls, @interruptible, @isolate, @tiers, @run_on, @time_limit, @hold_limit,
            @hops, @own_times, @expired_topic, @batch_bytes, @key_throttle]
        end

        def to_json(*) = JSON.generate({**@values, faults: @faults.map(&:to_a)})
        def to_s = [@values.map { |name, value| "#{name}=#{value}" }.join(" "), *@faults].join("\n  ")

        # Draws a plan.
        class Draw
          # Processes that have several connections each.
          MULTIPLEXED = 2
          private_constant :MULTIPLEXED

          def initialize(seed)
            @seed = seed
            @random = Random.new(seed)
          end

          def values
            members = @random.rand(2..4)
            values = {seed: @seed, members: members, **shape, **user_code, **failing, **admission, **timing,
                      faults: faults(members), transactions: one_of(true, false, false, false, false),
                      static: one_of(true, false, false, false), isolate: one_of(false, true, true, true, true)}
            fit(values)
          end

          private

          # Adjusts values that depend on each other.
          def fit(values)
            values[:batch] = nil if values[:max_messages] < values[:batch].to_i
            transacted(values) if values[:transactions]
            # Counts of crashes are stored in the metadata too; and only parallel processing needs it for more.
            values[:budget] = nil if values[:killer] || values[:mode] == :whole
            values.merge!(partitions: 3, records: 50, burst_ms: 600, keys: 20, slow_percent: 6) if values[:budget]
            trap = trap(values) and lay(trap, values)
            retried(values) unless values[:letters] || values[:transactions]
            multiplexed(values) unless values[:transactions] || values[:tiers]
            elsewhere(values) unless values[:transactions]
            quickly(values) unless values[:run_on] || values[:tiers]
            marked_late(values) if values[:manual] && !values[:run_on] && !values[:transactions]
            failing_often(values) if (values[:letters] || values[:tiers]) && !values[:transactions]
            forgetful(values) if values[:manual]
            delayed(values)
            expiring(values) unless values[:hops] || values[:transactions] || values[:quick] || values[:bad_every]
            values[:tick_in] = one_of(*[nil] * 9, 20, 300) unless values[:hops] || values[:quick] || values[:run_on] == :processes
            values[:batch_bytes] = one_of(*[nil] * 9, 12) unless values[:hops] || values[:quick] || values[:forgets]
            throttled_by_key(values)
            values
          end

          def throttled_by_key(values)
            return if values[:mode] != :key || values[:partitioner] == "consistent" || values[:bad_every]
            values[:key_throttle] = one_of(*[nil] * 9, 1, 2)
            values.merge!(throttle: nil, keys: one_of(5, 20)) if values[:key_throttle]
          end

          # Records that expire go to a topic, or have times of their own.
          def expiring(values)
            return unless one_of(*[false] * 7, true)
            values.merge!(own_times: one_of(true, false), expired_topic: one_of(nil, "expired", "expired"),
              letter_trouble: one_of(0, 20, 60))
            values[:expire_ms] ||= values[:own_times] ? one_of(nil, 700) : one_of(400, 1_500)
            values[:faults].concat(Array.new(2) { ambush(:letter) }) if values[:expired_topic]
          end

          # All messages are delayed, and nothing but the consumer of delay topics runs. Nothing goes back, and no log is cut.
          def delayed(values)
            hops = one_of(*[nil] * 19, [100, 300], [60, 150, 500]) or return
            values.merge!(**FEATURES, hops: hops, topics: hops.size, partitions: hops.size, mode: :whole, manual: false, keys: 5,
              fail_percent: 0, poison_percent: 0, slow_percent: 0, mark_percent: 0, seek_percent: 0, isolate: false,
              letter_trouble: one_of(0, 10, 30), max_messages: 100, static: values[:static], burst_ms: values[:burst_ms],
              faults: values[:faults].map { |fault| gentle(fault) } + Array.new(2) { ambush(:hop) })
          end

          def gentle(fault)
            return ambush(:hop) if unfair?(fault)
            case fault.kind
            when :retention, :compact, :outage, :producer_full, :connections then ambush(:hop)
            when :wall_jump then Fault.new(fault.at, :wall_jump, fault.who, fault.value / 100)
            when :ambush then ambush(:letter)
            else fault
            end
          end

          def ambush(what) = Fault.new(@random.rand(300..(@horizon - 300)), :ambush, 0, what)

          # Records that always fail, and dependencies that are unavailable: how a breaker distinguishes them.
          def failing_often(values)
            return poisoned(values) if one_of(*[false] * 5, true)
            away(values) if one_of(*[false] * 4, true)
            values.merge!(outage_share: one_of(100, 100, 40, 70), outage_error: one_of(:refused, :refused, :down),
              hold_limit: one_of(nil, 300, 1_500), bad_every: one_of(nil, nil, nil, 5, 20))
            values[:hold_limit] ||= 1_500 if values[:bad_every] # the partition's next record may be a bad one
          end

          # Of many records some are bad, spread evenly, and nothing else happens; or the group changes as well.
          def poisoned(values)
            calm = one_of(true, true, false)
            faults = calm ? [] : Array.new(3) { Fault.new(@random.rand(300..2_500), :shuffle, 0, nil) }
            values[:bad_keys] = values[:mode] == :key && one_of(true, false)
            values.merge!(calm: calm, bad_every: one_of(100, 20, 5, 5), records: 140, burst_ms: one_of(1, 600), topics: 1,
              partitions: @random.rand(1..4), keys: 20, fail_percent: 0, poison_percent: 0, seek_percent: 0, killer: nil,
              breaker: nil, letter_trouble: 0, budget: nil, expire_ms: nil, throttle: nil, delay_ms: nil, filter: nil,
              slow_percent: 0, mark_percent: 0, time_limit: nil, run_on: nil, isolate: true, quick: false, late: false,
              interruptible: false, drain_ms: 1_500, max_messages: one_of(1, 5, 20), members: @random.rand(1..3),
              connections: one_of(nil, nil, 2), letters: values[:tiers] ? nil : one_of(0, 1, 2), faults: faults)
          end

          # For a while all records, or a part of them, fail.
          def away(values)
            outages = Array.new(2) { Fault.new(@random.rand(300..(@horizon - 1_500)), :outage, 0, @random.rand(400..2_500)) }
            values.merge!(records: 80, burst_ms: one_of(1, 1, 500), fail_percent: 0, poison_percent: 0, killer: nil,
              breaker: one_of(nil, nil, 3), isolate: true, quick: false,
              faults: [*outages, *values[:faults].first(2)].sort_by(&:at))
          end

          # In processes of a pool each call has a new consumer, so nothing can be lost. And a consumer that waits for
          # more records before it marks any must receive more.
          def forgetful(values)
            return if values[:late] || values[:transactions] || values[:run_on] == :processes
            values[:forgets] = one_of(nil, "all", "all", "some")
            values[:budget] = nil if values[:forgets]
            gone_to_the_end(values) if values[:forgets] && values[:mode] == :whole
          end

          # Nothing else goes back: a user who seeks to a deleted offset gets what the policy sets.
          def gone_to_the_end(values)
            return unless one_of(true, false)
            values[:to_end] = true
            values[:fail_percent] = [values[:fail_percent], 15].max
            nobody_goes_back(values)
            more = Array.new(2) { Fault.new(@random.rand(300..(@horizon - 300)), :retention, 0, @random.rand(20..80)) }
            values[:faults] = [*values[:faults], *more].sort_by(&:at)
          end

          # Nothing goes back: it would be undefined whether a mark comes before or after that.
          def marked_late(values)
            return unless one_of(true, false)
            values[:late] = true
            nobody_goes_back(values)
          end

          def nobody_goes_back(values)
            values[:seek_percent] = 0
            values[:filter] &&= :block
            values[:faults].each { |fault| fault.kind, fault.value = :ambush, :job if goes_back?(fault) }
          end

          def goes_back?(fault) = unfair?(fault) || fault.value == :seek
          def unfair?(fault) = UNFAIR.include?(fault.kind) || fault.value == :unsigned

          # A unit has several calls where little is decided between two of them, and many records are available.
          def quickly(values)
            return unless one_of(*[nil] * 24, true)
            values.merge!(**Aims::QUICK, max_messages: one_of(1, 1, 2))
          end

          # Users' code runs in fibers of one thread, or in processes of a pool, which know no partitions.
          def elsewhere(values)
            kind = one_of(*[nil] * 29, :fibers, :processes, :processes) or return
            (kind == :fibers) ? in_fibers(values) : in_processes(values)
          end

          def in_fibers(values)
            values.merge!(run_on: :fibers, interruptible: true, time_limit: one_of(nil, 400), slow_percent: 6, drain_ms: 200,
              records: 25)
            values[:faults].concat(Array.new(4) { Fault.new(@random.rand(300..1_500), :ambush, 0, :shuffle) })
          end

          def in_processes(values)
            values.merge!(run_on: :processes, calls: false, pool_trouble: one_of(15, 30), time_limit: one_of(nil, 400),
              slow_percent: 6, drain_ms: 200, records: 25, mark_percent: 40)
            values[:partitioner] = false if values[:partitioner] == "consistent"
            values[:faults].concat(Array.new(4) { Fault.new(@random.rand(300..1_500), :ambush, 0, :reply) })
          end

          def lay(trap, values)
            values[:fail_percent] = 8
            values[:faults][0] = Fault.new(values[:faults][0].at, :ambush, 0, trap)
          end

          # Failed records go to other topics, some of them through all.
          def retried(values)
            tiers = one_of(nil, nil, nil, [100], [50, 250]) or return
            killer = one_of(*[nil] * 5, @random.rand(20))
            values.merge!(tiers: tiers, fail_percent: 8, poison_percent: 15, killer: killer, records: 25,
              partitions: [values[:partitions], 4].min)
            values[:budget] = nil if killer
            lay(:letter, values) if values[:letter_trouble].positive?
          end

          # Several connections per process, some of which open or close.
          def multiplexed(values)
            count = one_of(*[nil] * 8, 1, 2) or return
            changes = Array.new(4) { |index| Fault.new(@random.rand(300..(@horizon - 300)), *change(index)) }
            values[:faults].each { |fault| fault.who %= MULTIPLEXED }
            values.merge!(connections: count, members: MULTIPLEXED, slow_percent: 15, drain_ms: 200, records: 25,
              partitions: [values[:partitions], 5].min, faults: (values[:faults] + changes).sort_by(&:at))
          end

          # A partition that moves to another connection of its process, with a unit that outlasts the drain, has to
          # wait.
          def change(index)
            return [:ambush, 0, :shuffle] if index < 2
            [:connections, @random.rand(MULTIPLEXED), one_of(:more, :less)]
          end

          # In transactions records are marked, and done exactly once.
          def transacted(values)
            values.merge!(letters: nil, killer: nil, seek_percent: 0, mark_percent: 0, budget: nil,
              transaction_trouble: one_of(0, 5, 15))
            values[:faults].each { |fault| fault.kind, fault.value = :ambush, :transaction if goes_back?(fault) }
          end

          # Situations that occur too seldom by chance.
          def trap(values)
            return (:letter if values[:letter_topic] && values[:letter_trouble].positive?) if values[:letters]
            :failure if values[:mode] != :whole && one_of(true, false)
          end

          def shape
            {partitions: @random.rand(3..8), topics: one_of(1, 1, 1, 2), workers: @random.rand(1..4),
             records: @random.rand(25..45),
             style: one_of(:eager, :cooperative, :cooperative, :consumer, :consumer), manual: one_of(false, false, false, true),
             mode: one_of(:whole, :key, :key, :message),
             max_messages: one_of(1, 3, 5, 10, 100), keys: one_of(1, 5, 20)}
          end

          def user_code
            {fail_percent: one_of(0, 2, 8), poison_percent: one_of(0, 0, 3), slow_percent: one_of(0, 2, 6),
             mark_percent: one_of(0, 10, 40), seek_percent: one_of(0, 0, 0, 4)}
          end

          # Options for records that fail, or kill.
          def failing
            letters = one_of(nil, nil, 0, 0, 0, 1, 2)
            {letters: letters, letter_topic: one_of("dead", "dead", "dead", false), letter_trouble: one_of(0, 40, 80),
             at_once: one_of(false, true), breaker: one_of(nil, nil, 3), killer: letters && one_of(*[nil] * 5, @random.rand(20))}
          end

          def admission
            {filter: one_of(nil, nil, nil, nil, :block, :object), partitioner: one_of(false, false, false, true, "consistent"),
             expire_ms: one_of(*[nil] * 9, 1_500), delay_ms: one_of(*[nil] * 9, 150), throttle: one_of(*[nil] * 9, 3),
             budget: one_of(nil, nil, nil, 36), burst_ms: one_of(1, 1, 500),
             batch: one_of(*[nil] * 7, 3), calls: one_of(*[false] * 5, true),
             interruptible: one_of(false, false, true)}
          end

          def timing
            @horizon = @random.rand(3_500..6_500)
            {horizon_ms: @horizon, commit_interval_ms: one_of(200, 500, 1_000), drain_ms: one_of(200, 700, 1_500),
             shutdown_ms: one_of(2_000, 4_000)}
          end

          def faults(members)
            drawn = Array.new(@random.rand(3..10)) do
              kind = one_of(*KINDS)
              Fault.new(@random.rand(300..(@horizon - 300)), kind, @random.rand(members), value(kind))
            end
            drawn.sort_by(&:at)
          end

          def value(kind)
            case kind
            when :commit then one_of(*COMMIT_FATES)
            when :read then one_of(*READ_FATES)
            when :ambush then one_of(:letter, :letter, :letter, :failure, :job, :seek)
            when :pause, :cut then one_of(200, 600, 2_000, 3_000)
            when :coordinator then @random.rand(100..2_500)
            when :metadata_limit, :unstable, :loading, :slow_network, :hold, :outage, :producer_full then @random.rand(200..1_500)
            when :slow_loop then @random.rand(50..800)
            when :crash, :stop then one_of(nil, 100, 500, 2_000)
            when :truncate, :compact, :seek, :damage then @random.rand(1..99)
            # Most of the log: nobody notices the loss of records that were already read.
            when :retention then @random.rand(50..100)
            when :wall_jump then @random.rand(-100_000..100_000)
            end
          end

          def one_of(*choices) = choices[@random.rand(choices.size)]
        end
      end
    end
  end
end
