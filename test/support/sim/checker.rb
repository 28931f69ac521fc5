# frozen_string_literal: true

require "penstock/native/envelope"
require_relative "../fake_kafka/cluster"
require_relative "truth"

module Penstock
  module TestSupport
    module Sim
      # Knows the truth (logs, executions, commits) and looks at every event whether an invariant of delivery still holds:
      #
      # I1 no loss · I2 nothing invented · I3 order · I4 no overlap · I5 nothing done runs again without a cause · I6 committed
      # is complete · I7 committed goes back only by a seek or a reset · I9 progress after faults (asked by the world) · I10 an
      # end in time. What speaks against one ends the run.
      class Checker < FakeKafka::Cluster::Observer
        # Events of the loop that are looked at.
        EVENTS = %w[error.occurred consumer.offset_reset offsets.opened_without_ledger client.reset offsets.metadata_reduced
          offsets.metadata_ignored rebalance.unit_left_running consumer.discontinuity consumer.consuming.seek].freeze
        # An invariant that doesn't hold.
        Violation = Struct.new(:invariant, :text) do
          def to_s = "#{invariant}: #{text}"
        end

        # @return [Violation, nil] the first
        attr_reader :violation
        attr_reader :truths

        # @param world [World]
        def initialize(world)
          super()
          @world = world
          @plan = world.plan
          @coverage = world.coverage
          @truths = []
          @of_place = Hash.new { |hash, place| hash[place] = [] }
          @order = Hash.new(0)
          @checked = Hash.new(0)
          @busy = []
          @maps = {}
          @taken_at = Hash.new(0)
          @of_key = Hash.new { |hash, key| hash[key] = [] }
          @back = {}
          @trouble = {}
          @revoked_at = {}
        end

        def fail(invariant, text)
          @violation ||= Violation.new(invariant, "at #{@world.timeline.now} ms: #{text}")
        end

        # --- the log

        def produced(place, record)
          truth = Truth.new(@truths.size, place, record)
          @truths << truth
          @of_place[place] << truth
          sequence(truth)&.push(truth)
        end

        # These records are no longer in the log.
        def gone(records)
          records.each { |record| @truths[record.payload.to_i].exempt = true }
        end

        # The log was cut: what stands below the old end from now on may be skipped by what was committed before.
        def cut(place, old_end)
          @cuts ||= {}
          @cuts[place] = old_end
          excuse(place, 0, 5)
          @back[place] = 0
          @checked[place] = 0
        end

        def cut_below?(place, offset) = @cuts&.key?(place) && offset < @cuts[place]

        # --- executions

        # A worker begins a unit.
        def unit_begun(instance, unit)
          return if !unit.consume? || instance.driver.assigned.include?(unit.lane.key)
          fail("I4", "#{instance.name} begins #{unit.messages.inspect}, which it has given up")
        end

        def unit_begins(sleeper, consumer)
          instance = sleeper.instance
          place = [consumer.topic.name, consumer.partition]
          work = Work.new(instance, place, consumer.messages.map { |message| truth_of(message) }, consumer)
          other = @busy.find { |running| running.instance.equal?(instance) && collide?(running, work) }
          fail("I4", "#{work.inspect} begins beside #{other.inspect}") if other
          work.begun_at = @world.timeline.now
          @busy << work
          work
        end

        def record_begins(work, message)
          truth = truth_of(message)
          @world.trace(:record, work.instance.number, truth.uid)
          unless message.offset == truth.offset && work.place == truth.place && message.raw_key == truth.record.key
            fail("I2", "#{message.uid} is not what was written as #{truth.uid}")
          end
          in_order(truth)
          again(work, truth) if truth.done
          truth.failed_at = nil
          truth
        end

        def record_ran(_work, truth) = truth.ran = true

        def marked(work, truth, answer) = (marks(work, truth) if answer)

        def marks(work, truth)
          covered(work, truth).each { |other| done(work, other) if other.ran && (!other.done || other.redo) }
        end

        # A mark that waits for its acknowledgement counts from its beginning; without an answer nobody knows.
        def waited(work, truth, answer)
          return @coverage.hit("mark with acknowledgement") if answer
          covered(work, truth).each { |other| other.licences += 1 if other.done_by.equal?(work.driver) }
        end

        def unit_ended(work)
          @busy.delete(work)
          late_perhaps(work)
          return excuse_others(work) if work.flow
          return if @plan.manual
          work.truths.each { |truth| truth.ran = true }
          marks(work, work.truths.last)
        end

        def unit_failed(work, error)
          @busy.delete(work)
          @coverage.hit("unit interrupted") if error.is_a?(Interrupted)
          work.truths.each { |truth| truth.failed_at = @world.timeline.now }
          excuse_others(work)
          late_perhaps(work)
        end

        def hook(_consumer, name) = @coverage.hit("hook #{name}")

        # --- wishes

        # Within the log, so that what happens is the seek's doing.
        def seekable(work, target)
          log = @world.cluster.log(*work.place)
          target.clamp(log.low, log.high)
        end

        def seeks(work, target)
          work.flow = :seek
          @coverage.hit("seek with units waiting") if @world.waits?(work)
          sought(work.place, target)
        end

        # Somebody asks the consumer for another flow: where a unit of it runs, it is the unit's wish.
        def asked(consumer, flow)
          work = @busy.find { |each| each.consumer.equal?(consumer) }
          work.flow = flow if work
        end

        # What the user steps over counts as done, what is sought again may run again.
        def sought(place, target)
          @back[place] = [@back[place], target].compact.min
          @of_place[place].each do |truth|
            next if truth.exempt
            truth.licences += 1 if truth.offset < target
            truth.ran = truth.done = true if truth.offset < target
          end
        end

        def pauses(work) = work.flow = :pause

        # --- what FakeKafka sees

        def commit_sent(driver, rows, assigned)
          rows.each do |topic, partition, offset,|
            next if assigned.include?([topic, partition])
            fail("I7", "#{driver.name} commits #{topic}/#{partition} at #{offset}, which it has given up")
          end
        end

        def stored(group, key, before, commit, request)
          @world.trace(:stored, key[1], commit.offset)
          complete_below(key, commit.offset, request.driver)
          complete_in(key, commit)
          backwards(group, key, before, commit, request) if before && commit.offset < before.offset
          @trouble.delete([request.driver, key])
          @coverage.hit("commit stored after the hand-over") unless request.driver.assigned.include?(key)
        end

        def read(key)
          map = @maps[key] or return
          @coverage.hit("adoption with attempts") if map.attempts.any?
          @coverage.hit("adoption with a map") if map.completed.any?
        end

        def refused(driver, rows)
          @coverage.hit("commit refused")
          rows.each { |topic, partition,| @trouble[[driver, [topic, partition]]] = true }
        end

        # Called when a revocation's event was handed to the loop.
        def revocation_begins(driver, keys, lost)
          instance = @world.instance_of(driver) or return
          @revoked_at[driver] = @world.timeline.now
          @coverage.hit("rebalance: #{STYLES.fetch(driver.group.style)}")
          running = keys.any? { |key| running_on(instance, key) }
          @coverage.hit(lost ? "lost with units running" : "revocation with units running") if running
          @coverage.hit("retry pending + revocation") if keys.any? { |key| retrying?(key) }
          @coverage.hit("stop during a rebalance") if instance.stopping?
        end

        STYLES = {eager: "eager", cooperative: "cooperative", consumer: "KIP-848"}.freeze
        private_constant :STYLES

        def taken_over(driver, keys)
          keys.each { |key| @taken_at[[driver, key]] = @world.timeline.now }
        end

        def given_up(driver, keys, lost)
          instance = @world.instance_of(driver) or return
          lost ||= @world.group.member_of(driver).nil?
          keys.each do |key|
            running = running_on(instance, key)
            next excuse(key, committed(key), 1) if lost
            left_running(instance, driver, key, running) if running && running.begun_at > @taken_at[[driver, key]]
            handed_over(instance, driver, key, running || over_drain?(driver, instance))
          end
        end

        def closed(driver, keys)
          instance = @world.instance_of(driver) or return
          orderly = instance.stopping? && !instance.loop.cut_short? && !instance.loop.forced
          keys.each { |key| handed_over(instance, driver, key, !orderly) }
        end

        def expelled(driver)
          @coverage.hit("rejoin as another member")
          driver.assigned.each { |key| excuse(key, committed(key), 1) }
        end

        # The process is dead.
        def crashed(instance)
          @coverage.hit("crash with units running") if @busy.any? { |work| work.instance.equal?(instance) }
          @busy.reject! { |work| work.instance.equal?(instance) }
          instance.driver&.assigned&.each { |key| excuse(key, committed(key), 1) }
        end

        # --- what the loop tells

        def event(instance, name, payload)
          case name
          when "error.occurred" then error(instance, payload)
          when "client.reset" then @coverage.hit("connection opened anew")
          when "offsets.metadata_reduced" then @coverage.hit("metadata too large")
          when "rebalance.unit_left_running" then @coverage.hit("revocation over its drain")
          when "consumer.offset_reset" then reset(payload)
          when "consumer.consuming.seek" then excuse(payload.values_at(:topic, :partition), payload[:message], 1)
          when "consumer.discontinuity" then fail("I1", "#{instance.name}: a take that does not follow: #{payload}")
          end
        end

        # A process has come to its end.
        def ended(instance)
          return if instance.dead?
          late = @world.timeline.now - instance.deadline.at_ms
          fail("I10", "#{instance.name} ended #{late} ms after its deadline") if late > 1_000
        end

        # Nothing is left to be done.
        # @return [String, nil] what is
        def unfinished
          open = @truths.find { |truth| truth.open? && !cut_below?(truth.place, truth.offset) }
          return "record #{open.uid} at #{open.place.join("/")}/#{open.offset} has not been processed" if open
          @of_place.each_key do |place|
            log = @world.cluster.log(*place)
            at = @world.group.committed[place]&.offset
            next if at == log.high || (@cuts&.key?(place) && at && at > log.high)
            return "#{place.join("/")} is committed at #{at.inspect}, its end is #{log.high}"
          end
          nil
        end

        def inspect = "#<Checker>"

        private

        def truth_of(message) = @truths.fetch(message.raw_payload.to_i)
        def committed(key) = @world.group.committed[key]&.offset || 0

        # What must run in order with it: its partition, its key, nothing.
        def sequence(truth)
          case @plan.mode
          when :whole then @of_key[truth.place]
          when :key then @of_key[[truth.place, truth.record.key]] if truth.record.key
          end
        end

        def collide?(one, other)
          return false unless one.place == other.place
          case @plan.mode
          when :whole then true
          when :key then one.truths.first.record.key == other.truths.first.record.key && !other.truths.first.record.key.nil?
          else one.truths.intersect?(other.truths)
          end
        end

        # What a mark says is complete.
        def covered(work, truth)
          case @plan.mode
          when :whole then @of_place[truth.place].take_while { |other| other.uid <= truth.uid }
          when :key then work.truths.take_while { |other| other.uid <= truth.uid }
          else (work.truths.last.equal?(truth) && work.flow.nil?) ? work.truths : [truth]
          end
        end

        def running_on(instance, place) = @busy.find { |work| work.instance.equal?(instance) && work.place == place }
        def retrying?(place) = @of_place[place].any? { |truth| truth.failed_at && truth.open? }

        # All that lies before it in its sequence has run.
        def in_order(truth)
          all = sequence(truth) or return
          index = @order[all.first.uid]
          index += 1 while (first = all[index]) && (first.ran || first.exempt)
          @order[all.first.uid] = index
          return unless first && first.uid < truth.uid && !cut_below?(truth.place, first.offset)
          fail("I3", "#{truth.place.join("/")}: offset #{truth.offset} begins before #{first.offset} has run")
        end

        def again(work, truth)
          return unless @world.group.owner(work.place).equal?(work.driver)
          return if truth.redo
          truth.redo = true
          return truth.licences -= 1 if truth.licences.positive?
          fail("I5", "#{work.instance.name} runs #{truth.place.join("/")}/#{truth.offset} again, which is done")
        end

        def done(work, truth)
          here = work.begun_at >= @taken_at[[work.driver, work.place]]
          truth.done = true
          truth.redo = false
          truth.done_by = here ? work.driver : nil
          truth.done_at = @world.timeline.now
          truth.licences += 1 unless here && @world.group.owner(work.place).equal?(work.driver)
        end

        # What somebody else has done meanwhile this client doesn't know.
        def excuse_others(work)
          work.truths.each { |truth| truth.redo = true if truth.done && !truth.done_by.equal?(work.driver) }
        end

        def late_perhaps(work)
          @coverage.hit("late outcome") unless work.driver.assigned.include?(work.place)
        end

        # Everything that is done above the committed offset may run again, as often as this is said.
        def excuse(place, from, times)
          running = running(place)
          @of_place[place].each do |truth|
            next if truth.exempt || truth.offset < from
            truth.licences += times if truth.done || running.include?(truth)
          end
        end

        def running(place) = @busy.select { |work| work.place == place }.flat_map(&:truths)

        def over_drain?(driver, instance)
          patience = instance.stopping? ? 0 : @plan.drain_ms
          @world.timeline.now - @revoked_at.fetch(driver, 0) >= patience
        end

        def left_running(instance, driver, key, work)
          return if over_drain?(driver, instance)
          fail("I4", "#{instance.name} gives up #{key.join("/")} while #{work.offsets} runs and there is time")
        end

        # In order: what is done is committed; else it may run again.
        def handed_over(instance, driver, key, forced)
          from = committed(key)
          return excuse(key, from, 1) if forced
          left = @of_place[key].find do |truth|
            done_here?(truth, driver, key) && truth.offset >= from && !mapped?(key, truth)
          end
          return unless left
          return excuse(key, from, 1) if @trouble[[driver, key]] || @back.key?(key)
          fail("I5", "#{instance.name} gives up #{key.join("/")} in order, committed at #{from}, but #{left.offset} is done")
        end

        def complete_below(key, offset, driver)
          list = @of_place[key]
          list.each do |truth|
            next if truth.offset < @checked[key]
            break if truth.offset >= offset
            next if truth.done || truth.exempt || cut_below?(key, truth.offset)
            return fail("I6", "#{driver.name} commits #{key.join("/")} at #{offset}, but #{truth.offset} is not done")
          end
          @checked[key] = [@checked[key], offset].max
        end

        # With this client, in the assignment that ends.
        def done_here?(truth, driver, key)
          truth.done && truth.done_by.equal?(driver) && !truth.exempt && truth.done_at >= @taken_at[[driver, key]]
        end

        # What the metadata says is complete is, too.
        def complete_in(key, commit)
          @maps[key] = nil
          return if commit.metadata.nil? || commit.metadata.empty?
          decoded = Native::Envelope.decode(commit.metadata, base: commit.offset, topic: key[0])
          @maps[key] = decoded
          decoded.completed.each do |from, to|
            open = @of_place[key].find { |truth| truth.open? && truth.offset.between?(from, to - 1) }
            fail("I6", "#{key.join("/")}: the commit's metadata says that #{open.offset} is done") if open
          end
        end

        def mapped?(key, truth)
          @maps[key]&.completed&.any? { |from, to| truth.offset.between?(from, to - 1) }
        end

        def backwards(group, key, before, commit, request)
          if @back.key?(key) && commit.offset >= @back[key]
            return excuse(key, commit.offset, 1)
          end
          return excuse(key, commit.offset, 1) unless group.owner(key).equal?(request.driver)
          fail("I7", "#{request.driver.name} commits #{key.join("/")} back from #{before.offset} to #{commit.offset}")
        end

        def error(instance, payload)
          error = payload[:error]
          return unless payload[:type] == "connection.listener.fetch_loop.error"
          return if error.message.include?("simulated")
          fail("I11",
            "#{instance.name}: the loop failed: #{error.class}: #{error.message}\n#{error.backtrace&.first(8)&.join("\n")}")
        end

        def reset(payload)
          @coverage.hit(payload[:reason].include?("retention") ? "retention passed the lane" : "log cut")
          place = [payload[:topic], payload[:partition]]
          @back[place] = 0
          excuse(place, 0, 1)
        end
      end
    end
  end
end
