# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      module Kafka
        # The path of a client's commits to the coordinator and back, and the faults on it. {#arrange} sets the fates of
        # the next commits; without one a commit arrives, is stored and answered.
        class CommitPath
          # A commit as the client received it, with the client's generation at that time.
          Request = Struct.new(:driver, :token, :rows, :member_id, :epoch, :sent_at)

          REQUEST_TIMEOUT_MS = 800
          private_constant :REQUEST_TIMEOUT_MS

          # @param driver [Driver]
          def initialize(driver)
            @driver = driver
            @cluster = driver.cluster
            @fates = []
            @parked = []
            @outstanding = 0
            @idle = []
            @cut_until = 0
            @delayed = []
          end

          # @param fate [Symbol] :lost (never arrives), :unanswered (stored, no answer), :late, :resent (stored twice),
          #   or the name of an error
          def arrange(fate) = @fates << fate

          # Nothing reaches the coordinator until then; commits are kept and sent under the generation of that moment.
          def cut(until_ms) = @cut_until = until_ms

          # @return [Integer] ms
          def cut_left = [@cut_until - @cluster.timeline.now, 0].max

          def send_rows(token, rows)
            request = Request.new(@driver, token, rows, @driver.member_id, @driver.epoch, @cluster.timeline.now)
            @outstanding += 1
            return park(request) if cut_left.positive?
            return @delayed << request if @driver.joining? && @driver.group.style != :consumer
            travel(request, @fates.shift)
            true
          end

          # @return [Boolean] whether an answer is awaited
          def outstanding? = @outstanding.positive?

          # The answer of JoinGroup has arrived, also a refusal: commits that were sent after the JoinGroup are served
          # now, under the generation they were sent with. Otherwise they would never be answered, and an unassign waits
          # for every answer.
          def join_answered
            waiting, @delayed = @delayed, []
            waiting.each { |request| travel(request, nil) }
          end

          # A JoinGroup of the eager protocol and an unassign wait for outstanding commits.
          def when_idle(&block)
            return yield if @outstanding.zero?
            @idle << block
          end

          private

          def travel(request, fate)
            @cluster.observer.commit_fares(@driver, fate) if fate
            case fate
            when nil then @driver.request { store(request) }
            when :lost then timed_out(request)
            when :unanswered then arrive(request, @cluster.latency, answered: false)
            when :late then arrive(request, @cluster.random.rand(300..3_000))
            when :resent then resent(request)
            else @cluster.timeline.after(@cluster.latency) { answer(request, Cluster.number(fate), {}) }
            end
          end

          def arrive(request, delay, answered: true)
            @cluster.timeline.after(delay) { store(request, answered: answered) }
          end

          def store(request, answered: true)
            number, errors = @driver.group.commit(request)
            answered ? answer(request, number, errors) : timed_out(request)
          end

          # The client has received no answer and sends the commit once more.
          def resent(request)
            @cluster.timeline.after(@cluster.latency) { @driver.group.commit(request) }
            arrive(request, @cluster.random.rand(200..2_000))
          end

          def timed_out(request)
            @cluster.timeline.after(REQUEST_TIMEOUT_MS) { answer(request, Cluster.number(:timed_out), {}) }
          end

          # Sent when the coordinator can be reached, with the client's member id and epoch of that time; fails after a
          # session timeout.
          def park(request)
            @cluster.timeline.at([@cut_until, @cluster.timeline.now + @driver.group.session_ms].min) do
              next answer(request, Cluster.number(:timed_out), {}) if cut_left.positive?
              request.member_id = @driver.member_id
              request.epoch = @driver.epoch
              arrive(request, @cluster.latency)
            end
            true
          end

          def answer(request, number, errors)
            @driver.reply do
              rows = request.rows.map { |row| [*row.first(3), errors.fetch(row.first(2), 0)] }
              @cluster.observer.refused(@driver, request.rows) if number != 0 || errors.any?
              done
              react(number, request)
              @driver.push([:commit, request.token, number, rows])
            end
          end

          def done
            @outstanding -= 1
            return unless @outstanding.zero?
            waiting, @idle = @idle, []
            waiting.each(&:call)
          end

          # librdkafka itself ends its membership, unless the request was made for an earlier generation.
          def react(number, request)
            return if number.zero? || @driver.rebalancing?
            unknown = number == Cluster.number(:unknown_member_id)
            outdated = number == Cluster.number(:illegal_generation) && request.epoch == @driver.epoch
            return if @driver.busy? || @driver.member_id.empty?
            @driver.unknown_member(outdated: outdated) if unknown || outdated
          end
        end
      end
    end
  end
end
