# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      module Kafka
        # The coordinator of transactions: the owner of each id, its epoch, and its open transaction. Messages become
        # visible when they are committed, together with the transaction's offsets.
        class Transactions
          # The state of one id. `ended`: how its last transaction ended, which is answered once more on request.
          class State
            attr_accessor :epoch, :ended, :since
            attr_reader :records, :offsets

            def initialize
              @epoch = -1
              @records = []
              @offsets = []
            end

            def open? = !@since.nil?

            def begin_at(time) = @since ||= time

            def end_as(ended)
              @ended = ended
              @since = nil
              @records.clear
              @offsets.clear
            end
          end

          # @return [Array<Object>] what was committed, in order
          attr_reader :log

          # @return [#transaction_committed, nil] notified of commits, before the offsets count
          attr_accessor :observer

          # @param cluster [Cluster]
          # @param timeout_ms [Integer] a transaction that is open longer is aborted
          def initialize(cluster, timeout_ms: 3_000)
            @cluster = cluster
            @timeout_ms = timeout_ms
            @states = Hash.new { |states, id| states[id] = State.new }
            @log = []
          end

          # Aborts what a former owner of the id left open.
          # @return [Integer] its epoch
          def init(id)
            state = @states[id]
            finish(state, :abort) if state.open?
            state.ended = nil
            state.epoch += 1
          end

          # @return [Symbol, nil] an error
          def produce(id, epoch, records)
            state = @states[id]
            return :_fenced unless state.epoch == epoch
            opened(state)
            state.records.concat(records)
            nil
          end

          # @param group [Group]
          # @param request [CommitPath::Request] of the member that has consumed
          # @return [Symbol, nil] an error
          def offsets(id, epoch, group, request)
            state = @states[id]
            return :_fenced unless state.epoch == epoch
            code = group.transaction_refusal(request)
            return code if code
            opened(state)
            state.offsets << [group, group.pend(id, request)]
            nil
          end

          # A request whose transaction has ended. With transactions of version 1, which librdkafka has, only the epoch shows
          # that: if the next transaction of the id has offsets of the group, these become a part of it.
          # @see #offsets
          def late_offsets(id, epoch, group, request)
            state = @states[id]
            return :invalid_txn_state unless state.epoch == epoch && state.offsets.any?
            offsets(id, epoch, group, request)
          end

          # @param how [Symbol] :commit or :abort
          # @return [Symbol, nil] an error
          def end(id, epoch, how)
            state = @states[id]
            return :_fenced unless state.epoch == epoch
            return ((state.ended == how || how == :abort) ? nil : :invalid_txn_state) unless state.open?
            finish(state, how)
            nil
          end

          def inspect = "#<Transactions>"

          private

          def opened(state)
            return if state.open?
            state.ended = nil
            since = state.begin_at(@cluster.timeline.now)
            epoch = state.epoch
            @cluster.timeline.after(@timeout_ms) { time_out(state) if state.since == since && state.epoch == epoch }
          end

          def time_out(state)
            finish(state, :abort)
            state.epoch += 1
          end

          def finish(state, how)
            if how == :commit
              @log.concat(state.records)
              @observer&.transaction_committed(state.records.dup)
            end
            state.offsets.each { |group, pending| group.settle(pending, how) }
            state.end_as(how)
          end
        end
      end
    end
  end
end
