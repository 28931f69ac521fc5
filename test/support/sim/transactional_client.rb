# frozen_string_literal: true

require "penstock/errors"

module Penstock
  module TestSupport
    module Sim
      # The client of a simulated transactional producer, with the part of Penstock::Native::Producer's interface that
      # transactions need. Requests to the coordinator take time; depending on the plan one is lost, its answer is lost,
      # or it comes late. As in the driver, a call that isn't answered in time stays open: the same call again waits for
      # its answer.
      class TransactionalClient
        FATES = %i[lost unanswered unanswered late].freeze
        LATE_MS = (300..2_500)
        # After this time librdkafka itself sends the request again.
        AGAIN_MS = 1_000
        # Errors of a coordinator that librdkafka retries itself.
        ASKED_AGAIN = %i[coordinator_load_in_progress not_coordinator rebalance_in_progress].freeze
        private_constant :AGAIN_MS, :ASKED_AGAIN, :FATES, :LATE_MS

        # One request: made once, answered once.
        Call = Struct.new(:name, :answered, :error, :sleeper)

        attr_reader :queue_size, :fatal_error

        # @param world [World]
        # @param id [String]
        # @param instance [Instance]
        def initialize(world, id, instance)
          @world = world
          @id = id
          @instance = instance
          @coordinator = world.cluster.transactions
          @epoch = nil
          @queue_size = @delivered = @arrived = @serial = 0
        end

        def counts = [@delivered, 0]

        def init_transactions(timeout_ms)
          ask(:init, timeout_ms) { (@epoch = @coordinator.init(@id)) && nil }
        end

        def begin_transaction
          raise error(@fatal_error, fatal: true) if @fatal_error
          @serial += 1
        end

        # Queued, and delivered later.
        def produce(record)
          raise error(@fatal_error, fatal: true) if @fatal_error
          @queue_size += 1
          @arrived = [@world.timeline.now + @world.cluster.latency, @arrived + 1].max # in their order
          @world.timeline.at(@arrived) { delivered(record) unless @instance.dead? }
        end

        def flush(timeout_ms)
          ends = @world.timeline.now + timeout_ms
          nap(5) while @queue_size.positive? && @world.timeline.now < ends
        end

        def send_offsets_to_transaction(rows, group, timeout_ms)
          request = Testing::Memory::Kafka::CommitPath::Request
            .new(@instance.driver, nil, rows, group.member_id, group.generation, @world.timeline.now)
          serial, epoch = @serial, @epoch
          ask(:offsets, timeout_ms) do
            next @coordinator.offsets(@id, epoch, @world.group, request) if serial == @serial
            @world.coverage.hit("transaction: late offsets")
            @coordinator.late_offsets(@id, epoch, @world.group, request)
          end
        end

        def commit_transaction(timeout_ms)
          flush(timeout_ms)
          raise error(:_timed_out, retriable: true) if @queue_size.positive?
          ask(:commit, timeout_ms) { @coordinator.end(@id, @epoch, :commit) }
        end

        def abort_transaction(timeout_ms)
          flush(timeout_ms)
          @serial += 1 unless @call&.name == :abort
          ask(:abort, timeout_ms) { @coordinator.end(@id, @epoch, :abort) }
        end

        private

        def delivered(record)
          code = @coordinator.produce(@id, @epoch, [record])
          @fatal_error ||= code
          @queue_size -= 1
          @delivered += 1
        end

        # @yieldreturn [Symbol, nil] the coordinator's error
        def ask(name, timeout_ms, &question)
          raise error(@fatal_error, fatal: true) if @fatal_error
          call = (@call if @call&.name == name) || begin_call(name, &question)
          breaks if name == :commit && @world.transaction_fate(FATES) == :late
          await(call, timeout_ms)
          @call = nil
          settle(call)
        end

        # The client is lost while it commits; what it has sent is on its way.
        def breaks
          nap(@world.random.rand(20))
          @world.coverage.hit("transaction: client lost")
          @fatal_error = :fatal
          raise error(@fatal_error, fatal: true)
        end

        def begin_call(name, &question)
          @call = Call.new(name, false, nil, nil).tap { |call| send_off(call, &question) }
        end

        def send_off(call, &question)
          travel(call.name) do
            next if call.answered
            code = yield
            ASKED_AGAIN.include?(code) ? again { send_off(call, &question) } : answer(call, code)
          end
        end

        def answer(call, code)
          @world.timeline.after(@world.cluster.latency) do
            @instance.run_when_awake do
              call.answered = true
              call.error = code
              call.sleeper&.wake_at(@world.timeline.now)
            end
          end
        end

        # The way to the coordinator: once, later, or again, because nobody answered.
        def travel(name, &arrive)
          case @world.transaction_fate(FATES)
          when :late then @world.timeline.after(@world.random.rand(LATE_MS)) { yield }
          when :lost then again { travel(name, &arrive) }
          when :unanswered then unanswered(name, &arrive)
          else @world.timeline.after(@world.cluster.latency) { yield }
          end
        end

        # A commit that was made stays, whether its answer arrives or not.
        def unanswered(name, &arrive)
          @world.coverage.hit("transaction: answer lost")
          @world.timeline.after(@world.cluster.latency) { @coordinator.end(@id, @epoch, :commit) } if name == :commit
          again(&arrive)
        end

        def again(&block) = @world.timeline.after(AGAIN_MS) { @instance.run_when_awake(&block) }

        def await(call, timeout_ms)
          ends = @world.timeline.now + timeout_ms
          until call.answered
            raise error(:_timed_out, retriable: true) if @world.timeline.now >= ends
            call.sleeper = @world.running
            call.sleeper.sleep_until(ends)
          end
        end

        def settle(call)
          return unless call.error
          fenced = call.error == :_fenced
          @fatal_error = call.error if fenced
          raise error(call.error, fatal: fenced, abortable: !fenced)
        end

        def nap(delay_ms) = @world.running.sleep_until(@world.timeline.now + delay_ms)

        def error(name, **flags) = KafkaError.build(number: -1, name: name.to_s, message: "simulated", **flags)
      end
    end
  end
end
