# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      # Applies a plan's faults to the world: each fault has a method of its name. Faults with a duration end when the
      # world heals.
      class Faults
        # @param world [World]
        def initialize(world)
          @world = world
          @timeline = world.timeline
          @cluster = world.cluster
          @group = world.group
          @coverage = world.coverage
          @random = world.random
          @ended = false
          @traps = []
        end

        # @param fault [Plan::Fault]
        def inject(fault)
          @world.trace(:fault, fault.at, fault.who)
          __send__(fault.kind, @world.instance(fault.who), fault)
        end

        # Ends the active faults.
        def heal
          @ended = true
          @group.trouble = @group.unstable = nil
          @cluster.metadata_limit = 4_096
          @cluster.slowness = 1
          @world.outage = false
          @world.instances.each { |instance| go_on(instance) if instance.paused? }
        end

        # Called when a situation occurs that an ambush waits for.
        # @param what [Symbol] :letter (a late dead letter), :failure (of a record), :job and :seek (a long unit)
        # @param instance [Instance]
        def sprung(what, instance)
          trap = @traps.index(what)
          return if @ended || trap.nil?
          @traps.delete_at(trap)
          afterwards(@random.rand(20)) { strike(what, instance) }
        end

        # The process dies.
        # @param instance [Instance]
        def kill(instance)
          @world.checker.crashed(instance)
          drivers = instance.drivers
          instance.crash
          drivers.each { |driver| @timeline.after(@group.session_ms) { @group.silent(driver) } }
        end

        private

        def strike(what, instance)
          case what
          when :transaction, :hop then trouble_in_the_middle(what, instance)
          when :job then @group.silent(instance.driver)
          when :seek then seek(instance, Plan::Fault.new(@timeline.now, :seek, instance.slot, @random.rand(1..99)))
          else @group.shuffle
          end
        end

        # Faults that hit a process in the middle of a transaction, or when the message of a delayed record has arrived.
        def trouble_in_the_middle(what, instance)
          @coverage.hit("trouble in a #{what}")
          case @random.rand(4)
          when 0 then kill(instance) && again(Plan::Fault.new(@timeline.now, :crash, instance.slot, 100)) unless instance.dead?
          when 1 then pause(instance, Plan::Fault.new(@timeline.now, :pause, instance.slot, 2_500))
          when 2 then @group.silent(instance.driver)
          else @group.shuffle
          end
        end

        # Runs the block later, unless the world has healed before.
        def afterwards(delay_ms, &block)
          @timeline.after(delay_ms) { yield unless @ended }
        end

        # --- processes

        def crash(instance, fault)
          return unless instance
          kill(instance)
          again(fault)
        end

        def stop(instance, fault)
          return unless instance && !instance.stopping? && !instance.paused?
          @coverage.hit("stop with units running") if instance.units.any?
          @coverage.hit("stop during a rebalance") if instance.drivers.any?(&:busy?)
          instance.stop(@world.plan.shutdown_ms)
          again(fault)
        end

        def again(fault)
          afterwards(fault.value + 50) { @world.start(fault.who) unless @world.instance(fault.who) } if fault.value
        end

        def join(instance, fault) = (@world.start(fault.who) unless instance)

        def pause(instance, fault)
          return unless instance && !instance.paused?
          instance.pause
          instance.drivers.each do |driver|
            afterwards(@group.session_ms) { thrown_out(instance, driver) if instance.paused? }
          end
          afterwards(fault.value) { go_on(instance) }
        end

        def thrown_out(_instance, driver)
          @coverage.hit("process stopped past its session")
          @group.silent(driver)
        end

        def go_on(instance) = (instance.go_on if instance.paused? && !instance.dead?)

        def slow_loop(instance, fault) = (instance.slow_until = @timeline.now + fault.value if instance)

        def connection(instance, _fault) = instance&.break_connection

        def shuffle(_instance, _fault) = @group.shuffle

        # A connection opens or closes.
        def connections(instance, fault)
          return unless instance && !instance.stopping?
          return instance.connect if fault.value == :more
          @coverage.hit("connection closed by scaling") if instance.disconnect(@world.plan.shutdown_ms)
        end

        # The group changes the next time that the given situation occurs.
        def ambush(_instance, fault) = @traps << fault.value

        # --- the network and the coordinator

        def cut(instance, fault)
          driver = instance&.driver or return
          driver.commits.cut(@timeline.now + fault.value)
          afterwards(@group.session_ms) { @group.silent(driver) if driver.commits.cut_left.positive? }
        end

        def commit(instance, fault)
          driver = instance&.driver or return
          outdated = @group.style == :consumer && fault.value == :illegal_generation
          driver.commits.arrange(outdated ? :stale_member_epoch : fault.value)
        end

        # The coordinator's broker dies, or stops answering, and another takes its place, which knows all committed
        # offsets. Members keep their sessions and reconnect to it. Requests that were open when it died fail, at once
        # or late.
        def coordinator(_instance, fault)
          @coverage.hit("coordinator moved")
          @world.instances.flat_map(&:drivers).each do |driver|
            @coverage.hit("coordinator moved: offsets were being read") if driver.reads.reset
            driver.commits.cut(@timeline.now + fault.value)
          end
          @group.shuffle if fault.value.even?
        end

        # The next request for committed offsets, which a rebalance causes: the loop's or the client's own.
        def read(instance, fault)
          driver = instance&.driver or return
          case fault.value
          when :elsewhere then driver.reads.begin_elsewhere((@random.rand(-3..15) * 2) + 1)
          when :moved, :unsigned then moved(driver, fault.value)
          else driver.reads.arrange(fault.value)
          end
          @group.shuffle
        end

        # Two wrong answers in a row. No checksum shows it where another program has committed without metadata.
        def moved(driver, kind)
          2.times { driver.reads.arrange(:moved) }
          return if kind == :moved
          @world.checker.damaged
          @group.committed.each_value { |commit| commit.metadata = nil }
        end

        def metadata_limit(_instance, fault)
          @cluster.metadata_limit = 20
          afterwards(fault.value) { @cluster.metadata_limit = 4_096 }
        end

        def unstable(_instance, fault)
          @coverage.hit("unstable offsets")
          @group.unstable = true
          @group.shuffle
          afterwards(fault.value) { @group.unstable = nil }
        end

        def loading(_instance, fault)
          @group.trouble = :coordinator_load_in_progress
          afterwards(fault.value) { @group.trouble = nil }
        end

        # A dependency of the users' code becomes unavailable.
        def outage(_instance, fault)
          @world.outage = true
          afterwards(fault.value) { @world.outage = false }
        end

        # A user closes open breakers by hand.
        def release(instance, _fault)
          return unless instance&.running? && !instance.paused?
          held = instance.host.breakers.all.reject(&:closed?)
          held.each { |breaker| @world.checker.released(instance, breaker.topics) }
          instance.host.breakers.close_by_hand
        end

        def producer_full(instance, fault)
          instance.letters.full_until = @timeline.now + fault.value if instance
        end

        def slow_network(_instance, fault)
          @cluster.slowness = 40
          afterwards(fault.value) { @cluster.slowness = 1 }
        end

        # --- partitions

        def repeat(instance, _fault)
          driver = instance&.driver or return
          @coverage.hit("repeats after a rebalance")
          driver.repeat_next_time
        end

        def retention(_instance, fault)
          place = place(fault)
          log = @cluster.log(*place)
          @world.checker.gone(log.trim(log.low + ((log.high - log.low) * fault.value / 100)))
          @cluster.changed(*place)
        end

        def compact(_instance, fault)
          place = place(fault)
          @coverage.hit("compaction")
          @world.checker.gone(@cluster.log(*place).compact { @random.rand(100) < fault.value / 2 })
        end

        def truncate(_instance, fault)
          cut_log(fault) { |log| log.truncate(log.low + ((log.high - log.low) * fault.value / 100)) }
        end

        def recreate(_instance, fault)
          place = place(fault)
          cut_log(fault, &:recreate)
          @group.forget(place)
        end

        def cut_log(fault)
          place = place(fault)
          log = @cluster.log(*place)
          @world.checker.cut(place, log.high)
          @world.checker.gone(yield(log))
          @cluster.changed(*place)
        end

        # Somebody else has written the metadata, or it was truncated.
        def damage(_instance, fault)
          @coverage.hit("metadata damaged")
          @world.checker.damaged
          @group.committed.each_value do |commit|
            text = commit.metadata.to_s
            commit.metadata = fault.value.even? ? text[0...-3] : text.sub(/.\z/) { |last| last.succ[-1] }
          end
          @group.shuffle
        end

        def leader(_instance, fault)
          @cluster.log(*place(fault)).leader_epoch += 1
        end

        def partition_error(instance, fault)
          instance&.driver&.lanes&.[](place(fault))&.fail([3, "simulated"])
        end

        def place(fault) = @world.places[fault.at % @world.places.size]

        # --- users

        # A seek from outside of a unit.
        def seek(instance, fault)
          consumer = consumer(instance, fault) or return
          place = [consumer.topic.name, consumer.partition]
          log = @cluster.log(*place)
          target = log.low + ((log.high - log.low) * fault.value / 100)
          @coverage.hit("seek from outside")
          @coverage.hit("seek with units running") if instance.units.any? { |unit| unit.consume? && unit.lane.key == place }
          @world.checker.asked(consumer, :seek)
          @world.checker.sought(place, target)
          outside { consumer.seek(target) }
        end

        # Its process may have ended.
        def outside
          yield
        rescue SystemCallError, IOError
          nil
        end

        def hold(instance, fault)
          consumer = consumer(instance, fault) or return
          @world.checker.asked(consumer, :pause)
          outside { consumer.pause(:consecutive, fault.value) }
          afterwards(fault.value / 2) { outside { consumer.resume } } if instance.host.processes
        end

        def consumer(instance, fault)
          return if instance.nil? || instance.paused? || !instance.running?
          return visitor(instance, fault) if instance.host.processes
          lanes = instance.lanes
          busy = lanes & instance.units.select(&:consume?).map(&:lane)
          used = (busy.empty? ? lanes : busy).flat_map { |lane| lane.assignment.slot.pool.used }
          used[fault.at % used.size]&.consumer unless used.empty?
        end

        # In a process of the pool: a thread that some unit left there, whose unit may have ended.
        def visitor(instance, fault)
          there = instance.host.processes.members.flat_map(&:consumers)
          @coverage.hit("pool: request after its unit") if there.any?
          there[fault.at % there.size] if there.any?
        end

        def wall_jump(_instance, fault) = @world.clock.jumped_ms += fault.value
      end
    end
  end
end
