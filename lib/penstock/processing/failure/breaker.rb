# frozen_string_literal: true

module Penstock
  module Processing
    module Failure
      # Tells an outage from bad records: many different records in a row that fail alike are no coincidence. One a topic and
      # loop, shared by its lanes; it decides, the loop holds the lanes and sends the probes.
      #
      # States: closed (failures are counted) → open (nothing runs until `due`) → probing (one record runs) → open again, with
      # a longer wait, or closed by the first success, also that of a unit that was still running. A probe that never came to
      # an end ({#probe_lost}) goes back to open at once.
      class Breaker
        # An error of the record itself says nothing about anything else.
        OWN_ERRORS = %w[Penstock::DeserializationError Penstock::QuarantinedError].freeze

        # What one failure means to the breaker.
        #   :counted  it is the record's own matter for now
        #   :opened   the topic waits from here on
        #   :held     it waits already: the attempt doesn't count
        VERDICTS = %i[counted opened held].freeze

        # @return [Symbol] :closed, :open or :probing
        attr_reader :state
        # @return [Integer, nil] monotonic ms at which the next probe may run
        attr_reader :due
        # @return [String, nil] class of the errors that opened it
        attr_reader :cause

        # @param policy [Routing::Breaker]
        # @param backoff [Backoff] waits between probes
        def initialize(policy, backoff)
          @policy = policy
          @backoff = backoff
          @last = nil
          close
        end

        def closed? = @state == :closed

        # @return [Integer] different records that failed in a row
        def streak = @records.size

        # @param record [Object] which one: equal for the same record
        # @param error [Exception]
        # @param now [Integer] monotonic ms
        # @return [Symbol] one of {VERDICTS}
        def failed(record, error, now)
          return own(now) if own?(error)
          return hold(now) unless closed?

          count(record, error)
          return :counted if @records.size < limit(error)

          begin_outage(now)
          :opened
        end

        # @return [Boolean] whether it was open
        def succeeded
          return false if closed? && @records.empty? # each unit that ends well comes by here

          was_open = !closed?
          close
          was_open
        end

        # @param keys [Array<Object>] lanes that have a record to try, in any order
        # @param now [Integer]
        # @return [Object, nil] whose turn it is; nil: none, or not now
        def probe(keys, now)
          return unless @state == :open && @due <= now && !keys.empty?

          at = @last && keys.index(@last)
          @state = :probing
          @last = keys[at ? (at + 1) % keys.size : 0]
        end

        # The probe was called back, or its lane was given up.
        def probe_lost
          @state = :open if @state == :probing
        end

        private

        def own?(error) = (names(error) & OWN_ERRORS).any?

        # Poison among the probes: the next record may tell more.
        def own(now)
          if @state == :probing
            @state = :open
            @due = now
          end
          :counted
        end

        def count(record, error)
          name = error.class.name
          @records.clear unless @cause == name
          @cause = name
          @records[record] = true
        end

        def limit(error)
          outage = (names(error) & @policy.outage_errors).any?
          outage ? [@policy.outage_after, @policy.after].min : @policy.after
        end

        def names(error) = error.class.ancestors.filter_map(&:name)

        def begin_outage(now)
          @state = :open
          @probes = 1
          @due = now + @backoff.delay_ms(@probes)
        end

        # What fails behind an open breaker was running when it opened, or is the probe.
        def hold(now)
          if @state == :probing
            @state = :open
            @probes += 1
            @due = now + @backoff.delay_ms(@probes)
          end
          :held
        end

        def close
          @state = :closed
          @records = {}
          @cause = @due = nil
          @probes = 0
        end
      end
    end
  end
end
